// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknownDim;

void SetCounts(ShapeContext& c) {
  if (c.num_outputs() > 2) c.set_output(2, PartialShape{kUnknown});
}

Status UniqueShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(0, 1));
  c.set_output(0, PartialShape{kUnknown});
  c.set_output(1, x);
  SetCounts(c);
  return OkStatus();
}

Status UniqueV2Shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  SetCounts(c);
  c.set_output(1, PartialShape{kUnknown});
  const PartialShape& x = c.input(0);
  const Tensor axes = c.InputValue(1);
  if (axes.empty() || !x.known_rank()) return OkStatus();
  if (axes.num_elements() > 1) {
    return InvalidArgument("axis does not support input tensors larger than 1 elements, got ",
                           axes.num_elements());
  }
  if (axes.num_elements() == 0) return UniqueShape(c);
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(IntAt(axes, 0), x.rank(), "axis"));
  PartialShape y = x;
  y.set_dim(axis, kUnknown);
  c.set_output(0, std::move(y));
  c.set_output(1, PartialShape{x.dim(axis)});
  return OkStatus();
}

Status ListDiffShape(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
    c.set_output(i, PartialShape{kUnknown});
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(unique) {
  constexpr std::string_view kWhy = "which elements are equal is no smooth function of them";
  registry.Op("Unique")
      .Shape(UniqueShape)
      .NotDifferentiable(kWhy)
      .Doc(
          "The distinct elements of a vector in order of appearance, and where each element is "
          "among "
          "them.");
  registry.Op("UniqueWithCounts")
      .Shape(UniqueShape)
      .NotDifferentiable(kWhy)
      .Doc("As Unique, and how often each distinct element appears.");
  registry.Op("UniqueV2")
      .Shape(UniqueV2Shape)
      .NotDifferentiable(kWhy)
      .Doc("The distinct slices of a tensor along an axis, and where each slice is among them.");
  registry.Op("UniqueWithCountsV2")
      .Shape(UniqueV2Shape)
      .NotDifferentiable(kWhy)
      .Doc("As UniqueV2, and how often each distinct slice appears.");
  registry.Op("ListDiff")
      .Shape(ListDiffShape)
      .NotDifferentiable(kWhy)
      .Doc("The elements of x that are not in y, and their places in x.");
}
