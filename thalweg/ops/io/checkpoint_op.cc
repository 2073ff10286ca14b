// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/io/tensor_slice.h"

namespace thalweg {
namespace {

// prefix, then two string vectors with an element for each tensor.
Status CheckNames(ShapeContext& c, int num_tensors) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  for (int i = 1; i <= 2; ++i) {
    ASSIGN_OR_RETURN(const PartialShape names, c.InputWithRank(i, 1));
    if (names.dim(0) >= 0 && names.dim(0) != num_tensors) {
      return InvalidArgument("expected one ", i == 1 ? "name" : "slice", " for each of the ",
                             num_tensors, " tensors, got ", names.dim(0));
    }
  }
  return OkStatus();
}

Status SaveV2Shape(ShapeContext& c) { return CheckNames(c, c.num_inputs() - 3); }

// Slices that are known tell the shapes; whole tensors are as they are in the file.
Status RestoreV2Shape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckNames(c, c.num_outputs()));
  const Tensor slices = c.InputValue(2);
  if (slices.empty()) return OkStatus();
  for (int i = 0; i < c.num_outputs() && i < slices.num_elements(); ++i) {
    const std::string& text = slices.data<std::string>()[i];
    if (text.empty()) continue;
    Shape whole;
    TensorSlice slice;
    RETURN_IF_ERROR(ParseShapeAndSlice(text, &whole, &slice));
    ASSIGN_OR_RETURN(const Shape shape, slice.SliceShape(whole));
    c.set_output(i, shape);
  }
  return OkStatus();
}

Status MergeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  return c.InputWithRank(1, 0).status();
}

constexpr const char* kFiles = "files have no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(checkpoint) {
  registry.Op("SaveV2")
      .Shape(SaveV2Shape)
      .NotDifferentiable(kFiles)
      .Doc("Writes tensors to a checkpoint.");
  registry.Op("RestoreV2")
      .Shape(RestoreV2Shape)
      .NotDifferentiable(kFiles)
      .Doc("Reads tensors from a checkpoint.");
  registry.Op("MergeV2Checkpoints")
      .Shape(MergeShape)
      .NotDifferentiable(kFiles)
      .Doc("Makes one checkpoint of the shards that several tasks wrote.");
}
