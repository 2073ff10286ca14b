// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status RandomCropShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 3));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(c.input(1).MergeWith(PartialShape{2}).status());
  PartialShape out{PartialShape::kUnknownDim, PartialShape::kUnknownDim, image.dim(2)};
  const Tensor value = c.InputValue(1);
  for (int d = 0; d < 2 && !value.empty(); ++d) {
    const int64_t wanted = IntAt(value, d);
    if (wanted < 0) return InvalidArgument("size must not be negative, got ", wanted);
    out.set_dim(d, wanted);
  }
  c.set_output(0, out);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(random_crop) {
  registry.Op("RandomCrop")
      .Shape(RandomCropShape)
      .NotDifferentiable("which pixels were taken is not kept")
      .Doc("A piece of an image from a random place.");
}
