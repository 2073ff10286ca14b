// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ResourceGatherShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const int64_t batch_dims, c.Attr<int64_t>("batch_dims"));
  const HandleShape* handle = c.input_handle_shape(0);
  const PartialShape& indices = c.input(1);
  if (handle == nullptr || !handle->shape.known_rank() || !indices.known_rank()) return OkStatus();
  const PartialShape& params = handle->shape;
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= params.rank()) {
    return InvalidArgument("batch_dims = ", batch_dims, " does not fit params ", params,
                           " and indices ", indices);
  }
  const int batch = static_cast<int>(batch_dims);
  Dims dims;
  for (int i = 0; i < batch; ++i) dims.push_back(params.dim(i));
  for (int i = batch; i < indices.rank(); ++i) dims.push_back(indices.dim(i));
  for (int i = batch + 1; i < params.rank(); ++i) dims.push_back(params.dim(i));
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

// The rows that were read get the gradients: sparse, as wide as the rows.
Status ResourceGatherGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t batch_dims, c.node().Attr<int64_t>("batch_dims"));
  if (batch_dims != 0) {
    return Unimplemented("the gradient of ResourceGather with batch_dims = ", batch_dims,
                         " (read the variable and gather from the value)");
  }
  GraphBuilder& b = c.b();
  const Output shape = b.Op("VariableShape", {c.input(0)});
  const Output flat = b.Const(std::vector<int32_t>{-1});
  const Output rest = b.Op("StridedSlice",
                           {shape, b.Const(std::vector<int32_t>{1}),
                            b.Const(std::vector<int32_t>{0}), b.Const(std::vector<int32_t>{1})},
                           {{"end_mask", 1}});
  const Output rows_shape = b.Op(
      "ConcatV2", {b.Op("Reshape", {b.Op("Size", {c.input(1)}), b.Const(std::vector<int32_t>{1})}),
                   rest, b.ScalarConst(DType::kInt32, 0)});
  c.set_input_grad(0, GradientValue{b.Op("Reshape", {c.grad(0), rows_shape}),
                                    b.Op("Reshape", {c.input(1), flat}), shape});
  return b.status();
}

Status ResourceGatherNdShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRankAtLeast(1, 1));
  const HandleShape* handle = c.input_handle_shape(0);
  if (handle == nullptr || !handle->shape.known_rank() || !indices.known_rank()) return OkStatus();
  const PartialShape& params = handle->shape;
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return OkStatus();
  if (depth > params.rank()) {
    return InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth,
                           " vs. ", params.rank());
  }
  Dims dims(indices.dims());
  dims.resize(indices.rank() - 1);
  for (int i = static_cast<int>(depth); i < params.rank(); ++i) dims.push_back(params.dim(i));
  ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

// What was read gets the gradients, among zeros.
Status ResourceGatherNdGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output indices = c.input(1);
  const Output shape = b.Op("VariableShape", {c.input(0)}, {{"out_type", indices.dtype()}});
  c.set_input_grad(0, b.Op("ScatterNd", {indices, c.grad(0), shape}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(resource_gather) {
  registry.Op("ResourceGather")
      .Shape(ResourceGatherShape)
      .Gradient(ResourceGatherGradient)
      .Doc("The rows of a variable that indices name.");
  registry.Op("ResourceGatherNd")
      .Shape(ResourceGatherNdShape)
      .Gradient(ResourceGatherNdGradient)
      .Doc("The elements or slices of a variable that indices name.");
}
