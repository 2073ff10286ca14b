// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// indices[:-1] + params[k:], where k is the size of the last dimension of
// indices.
Result<PartialShape> SlicesShape(const PartialShape& params, const PartialShape& indices) {
  if (!indices.known_rank() || !params.known_rank()) return PartialShape::Unknown();
  RETURN_IF_ERROR(Explained(CheckRankAtLeast(indices.rank(), 1), "of indices"));
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return PartialShape::Unknown();
  if (depth > params.rank()) {
    return InvalidArgument("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                           indices, " and params shape: ", params);
  }
  Dims dims(indices.dims());
  dims.resize(indices.rank() - 1);
  for (int i = static_cast<int>(depth); i < params.rank(); ++i) dims.push_back(params.dim(i));
  return PartialShape::Make(dims);
}

Status GatherNdShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, SlicesShape(c.input(0), c.input(1)));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status ScatterNdShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, c.ShapeArgument(2));
  ASSIGN_OR_RETURN(const PartialShape slices, SlicesShape(shape, c.input(0)));
  RETURN_IF_ERROR(c.InputWithRankAtLeast(1, 1).status());
  if (!slices.IsCompatibleWith(c.input(1))) {
    const int outer = c.input(0).rank() - 1;
    PartialShape first = slices, given = c.input(1);
    for (PartialShape* shape : {&first, &given}) {
      Dims dims = shape->dims();
      dims.resize(std::min(outer, dims.size()));
      *shape = PartialShape(dims);
    }
    if (!first.IsCompatibleWith(given)) {
      return InvalidArgument("Dimensions [0,", outer, ") of indices[shape=", c.input(0),
                             "] = ", first, " must match dimensions [0,", outer,
                             ") of updates[shape=", c.input(1), "] = ", given, ": ",
                             first.MergeWith(given).status().message());
    }
    return InvalidArgument("Dimensions [0,", outer, ") of indices[shape=", c.input(0),
                           "] = ", slices, " must match dimensions [0,", outer,
                           ") of updates[shape=", c.input(1), "], followed by those of shape[",
                           c.input(0).dim(outer), ":]");
  }
  c.set_output(0, shape);
  return OkStatus();
}

Status TensorScatterShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, 1).status());
  ASSIGN_OR_RETURN(const PartialShape slices, SlicesShape(c.input(0), c.input(1)));
  const PartialShape& updates = c.input(2);
  const bool scalar = updates.known_rank() && updates.rank() == 0;
  if (!scalar && !slices.IsCompatibleWith(updates)) {
    return InvalidArgument("updates must have shape indices[:-1] + tensor.shape[k:] = ", slices,
                           ", got ", updates);
  }
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status GatherNdGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  Output indices = c.input(1);
  if (indices.dtype() == DType::kInt16) {
    indices = b.Op("Cast", {indices}, {{"DstT", DType::kInt32}});
  }
  if (!b.ok()) return b.status();
  const Output shape = b.Op("Shape", {c.input(0)}, {{"out_type", indices.dtype()}});
  c.set_input_grad(0, b.Op("ScatterNd", {indices, c.grad(0), shape}));
  return b.status();
}

Status ScatterNdGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(1, c.b().Op("GatherNd", {c.grad(0), c.input(0)}));
  return c.b().status();
}

Status TensorScatterAddGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.grad(0));
  c.set_input_grad(2, c.b().Op("GatherNd", {c.grad(0), c.input(1)}));
  return c.b().status();
}

Status TensorScatterSubGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  c.set_input_grad(0, c.grad(0));
  c.set_input_grad(2, b.Op("Neg", {b.Op("GatherNd", {c.grad(0), c.input(1)})}));
  return b.status();
}

// Whoever gives the extreme gets the gradient; several share it equally.
Status TensorScatterExtremeGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output tensor = c.input(0), indices = c.input(1), updates = c.input(2);
  if (!b.ok()) return b.status();
  const auto is_extreme = [&](Output value, Output extreme) {
    return b.Op("Cast", {b.Op("Equal", {value, extreme})}, {{"DstT", tensor.dtype()}});
  };
  const Output from_tensor = is_extreme(tensor, c.output(0));
  const Output from_updates = is_extreme(updates, b.Op("GatherNd", {c.output(0), indices}));
  const Output givers = b.Op("TensorScatterAdd", {from_tensor, indices, from_updates});
  // At least one, but for NaN.
  const Output share = b.Op("DivNoNan", {c.grad(0), givers});
  c.set_input_grad(0, b.Op("Mul", {share, from_tensor}));
  c.set_input_grad(2, b.Op("Mul", {b.Op("GatherNd", {share, indices}), from_updates}));
  return b.status();
}

// What was overwritten gets nothing.
Status TensorScatterUpdateGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output updates = b.Op("GatherNd", {c.grad(0), c.input(1)});
  c.set_input_grad(
      0, b.Op("TensorScatterUpdate", {c.grad(0), c.input(1), b.Op("ZerosLike", {updates})}));
  c.set_input_grad(2, updates);
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(gather_nd) {
  registry.Op("GatherNd")
      .Shape(GatherNdShape)
      .Gradient(GatherNdGradient)
      .Doc(
          "The elements or slices of params that the last dimension of "
          "indices names.");
  registry.Op("ScatterNd")
      .Shape(ScatterNdShape)
      .Gradient(ScatterNdGradient)
      .Doc("Zeros of a shape with updates added where indices say.");
  registry.Op("TensorScatterAdd")
      .Shape(TensorScatterShape)
      .Gradient(TensorScatterAddGradient)
      .Doc("A tensor with updates added where indices say.");
  registry.Op("ScatterNdNonAliasingAdd")
      .Shape(TensorScatterShape)
      .Gradient(TensorScatterAddGradient)
      .Doc("A tensor with updates added where indices say.");
  registry.Op("TensorScatterSub")
      .Shape(TensorScatterShape)
      .Gradient(TensorScatterSubGradient)
      .Doc("A tensor with updates subtracted where indices say.");
  registry.Op("TensorScatterMax")
      .Shape(TensorScatterShape)
      .Gradient(TensorScatterExtremeGradient)
      .Doc("A tensor with the larger of element and update where indices say.");
  registry.Op("TensorScatterMin")
      .Shape(TensorScatterShape)
      .Gradient(TensorScatterExtremeGradient)
      .Doc("A tensor with the smaller of element and update where indices say.");
  registry.Op("TensorScatterUpdate")
      .Shape(TensorScatterShape)
      .Gradient(TensorScatterUpdateGradient)
      .Doc("A tensor with updates put where indices say.");
}
