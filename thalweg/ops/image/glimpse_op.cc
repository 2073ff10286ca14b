// SPDX-License-Identifier: Apache-2.0
// ExtractGlimpse in both versions.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status GlimpseShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape images, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape given, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape offsets, c.InputWithRank(2, 2));
  if (given.dim(0) >= 0 && given.dim(0) != 2) {
    return InvalidArgument("size must have two elements, got ", given.dim(0));
  }
  if (offsets.dim(1) >= 0 && offsets.dim(1) != 2) {
    return InvalidArgument("offsets must be pairs of row and column, got shape ",
                           offsets.ToString());
  }
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(images.dim(0), offsets.dim(0)));
  const PartialShape size = c.InputAsShape(1);
  const auto side = [&](int i) { return size.known_rank() ? size.dim(i) : -1; };
  c.set_output(0, PartialShape{batch, side(0), side(1), images.dim(3)});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(glimpse) {
  constexpr std::string_view kWhy = "TensorFlow has no gradient of it either";
  registry.Op("ExtractGlimpse")
      .Shape(GlimpseShape)
      .NotDifferentiable(kWhy)
      .Doc("Windows of images, with noise where they reach over the edges.");
  registry.Op("ExtractGlimpseV2")
      .Shape(GlimpseShape)
      .NotDifferentiable(kWhy)
      .Doc("ExtractGlimpse with offsets that count from the corner where they are not centered.");
}
