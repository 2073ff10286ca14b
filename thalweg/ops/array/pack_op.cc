// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/axis.h"

namespace thalweg {
namespace {

Status PackShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
  PartialShape merged;
  for (int i = 0; i < c.num_inputs(); ++i) {
    Result<PartialShape> next = merged.MergeWith(c.input(i));
    RETURN_IF_ERROR(Explained(next.status(), "input ", i, " is ", c.input(i),
                              ", those before it are ", merged));
    merged = *std::move(next);
  }
  if (!merged.known_rank()) return OkStatus();
  const int rank = merged.rank() + 1;
  const std::optional<int> at = AxisFromFront(axis, rank);
  if (!at.has_value()) {
    return InvalidArgument("axis = ", axis, " not in [", -rank, ", ", rank, ")");
  }
  Dims dims = merged.dims();
  dims.insert(*at, c.num_inputs());
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status PackGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t axis, c.node().Attr<int64_t>("axis"));
  const int64_t n = c.node().num_inputs();
  Node* parts = c.b().OpNode("Unpack", {c.grad(0)}, {{"num", n}, {"axis", axis}});
  if (parts == nullptr) return c.b().status();
  for (int i = 0; i < n; ++i) c.set_input_grad(i, Output{parts, i});
  return OkStatus();
}

Status UnpackShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
  const PartialShape& value = c.input(0);
  if (!value.known_rank()) return OkStatus();
  const std::optional<int> at = AxisFromFront(axis, value.rank());
  if (!at.has_value()) {
    return InvalidArgument("Invalid axis: ", axis, "; must be in [", -value.rank(), ",",
                           value.rank(), ")");
  }
  RETURN_IF_ERROR(CheckDim(value.dim(*at), c.num_outputs()));
  Dims dims = value.dims();
  dims.erase(*at);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(dims));
  return OkStatus();
}

Status UnpackGradient(GradientContext& c) {
  ASSIGN_OR_RETURN(const int64_t axis, c.node().Attr<int64_t>("axis"));
  std::vector<Output> grads;
  for (int i = 0; i < c.node().num_outputs(); ++i) grads.push_back(c.grad(i));
  if (grads.empty()) return OkStatus();
  c.set_input_grad(0, c.b().Op("Pack", std::move(grads), {{"axis", axis}}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(pack) {
  registry.Op("Pack")
      .Shape(PackShape)
      .Gradient(PackGradient)
      .Doc("Tensors of one shape put together along a new dimension.");
  registry.Op("Unpack")
      .Shape(UnpackShape)
      .Gradient(UnpackGradient)
      .Doc("A tensor taken apart along a dimension, which is dropped.");
}
