// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/io/tensor_slice.h"

namespace thalweg {
namespace {

// A file name, then `vectors` string vectors with an element for each tensor.
Status SaveShapeWith(ShapeContext& c, int vectors) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  const int num_tensors = c.num_inputs() - 1 - vectors;
  for (int i = 1; i <= vectors; ++i) {
    ASSIGN_OR_RETURN(const PartialShape names, c.InputWithRank(i, 1));
    if (names.dim(0) >= 0 && names.dim(0) != num_tensors) {
      return InvalidArgument("expected one ", i == 1 ? "name" : "slice", " for each of the ",
                             num_tensors, " tensors, got ", names.dim(0));
    }
  }
  return OkStatus();
}

Status SaveShape(ShapeContext& c) { return SaveShapeWith(c, 1); }
Status SaveSlicesShape(ShapeContext& c) { return SaveShapeWith(c, 2); }

Status RestoreShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return UnknownShape(c);
}

// A slice that is known tells the shape.
Status RestoreSliceShape(ShapeContext& c) {
  RETURN_IF_ERROR(RestoreShape(c));
  const Tensor slices = c.InputValue(2);
  if (slices.empty() || slices.num_elements() != 1 || slices.data<std::string>()[0].empty()) {
    return OkStatus();
  }
  Shape whole;
  TensorSlice slice;
  RETURN_IF_ERROR(ParseShapeAndSlice(slices.data<std::string>()[0], &whole, &slice));
  ASSIGN_OR_RETURN(const Shape shape, slice.SliceShape(whole));
  c.set_output(0, shape);
  return OkStatus();
}

constexpr const char* kSliceFiles = "files have no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(slice_file) {
  registry.Op("Save")
      .Shape(SaveShape)
      .NotDifferentiable(kSliceFiles)
      .Doc("Writes tensors to a checkpoint of format V1.");
  registry.Op("SaveSlices")
      .Shape(SaveSlicesShape)
      .NotDifferentiable(kSliceFiles)
      .Doc("Writes tensors, or slices of larger ones, to a checkpoint of format V1.");
  registry.Op("Restore")
      .Shape(RestoreShape)
      .NotDifferentiable(kSliceFiles)
      .Doc("Reads a tensor from a checkpoint of format V1.");
  registry.Op("RestoreSlice")
      .Shape(RestoreSliceShape)
      .NotDifferentiable(kSliceFiles)
      .Doc("Reads a tensor, or a slice of one, from a checkpoint of format V1.");
}
