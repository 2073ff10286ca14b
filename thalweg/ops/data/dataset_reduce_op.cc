// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/listed_shapes.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_reduce) {
  constexpr std::string_view kNoNumber = "a dataset is no number";
  registry.Op("ReduceDataset")
      .Shape(thalweg::ListedShapes)
      .NotDifferentiable(kNoNumber)
      .Doc("The state that is left after a function has seen all elements.");
  registry.Op("DatasetToSingleElement")
      .Shape(thalweg::ListedShapes)
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
