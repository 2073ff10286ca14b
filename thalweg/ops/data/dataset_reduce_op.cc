// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ComponentShapes(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes,
                   c.Attr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return InvalidArgument("output_types has ", c.num_outputs(), " entries, output_shapes has ",
                           shapes.size());
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<size_t>(i)]);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(dataset_reduce) {
  constexpr std::string_view kNoNumber = "a dataset is no number";
  registry.Op("ReduceDataset")
      .Shape(ComponentShapes)
      .NotDifferentiable(kNoNumber)
      .Doc("The state that is left after a function has seen all elements.");
  registry.Op("DatasetToSingleElement")
      .Shape(ComponentShapes)
      .NotDifferentiable(kNoNumber)
      .Doc("The one element of a dataset.");
  for (const char* op : {"DatasetCardinality", "ExperimentalDatasetCardinality"}) {
    registry.Op(op)
        .Shape(ScalarShape)
        .NotDifferentiable(kNoNumber)
        .Doc("How many elements: -1 without end, -2 where nobody knows.");
  }
  for (const char* op : {"WrapDatasetVariant", "UnwrapDatasetVariant"}) {
    registry.Op(op).Shape(ScalarShape).NotDifferentiable(kNoNumber).Doc("The dataset.");
  }
}
