// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status DiagShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRankAtLeast(0, 1));
  if (!x.known_rank()) return OkStatus();
  if (2 * x.rank() > kMaxRank) {
    return InvalidArgument("a diagonal of rank ", x.rank(), " makes too high a rank");
  }
  c.set_output(0, x.Concatenate(x));
  return OkStatus();
}

Status DiagPartShape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.known_rank()) return OkStatus();
  if (x.rank() % 2 != 0 || x.rank() == 0) {
    return InvalidArgument("The rank of the tensor should be even and positive, got shape ", x);
  }
  PartialShape half = PartialShape::OfRank(x.rank() / 2);
  for (int i = 0; i < half.rank(); ++i) {
    ASSIGN_OR_RETURN(const int64_t size, MergeDims(x.dim(i), x.dim(i + half.rank())));
    half.set_dim(i, size);
  }
  c.set_output(0, std::move(half));
  return OkStatus();
}

Status DiagGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  const bool is_diag = c.node().op_name() == "Diag";
  c.set_input_grad(0, c.b().Op(is_diag ? "DiagPart" : "Diag", {c.grad(0)}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(diag) {
  registry.Op("Diag")
      .Shape(DiagShape)
      .Gradient(DiagGradient)
      .Doc("Zeros of shape d + d with a tensor of shape d on the diagonal.");
  registry.Op("DiagPart")
      .Shape(DiagPartShape)
      .Gradient(DiagGradient)
      .Doc("The diagonal of a tensor of shape d + d.");
}
