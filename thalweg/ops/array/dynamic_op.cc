// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// What follows the shape of the indices in the shape of the data.
PartialShape RowShape(const PartialShape& indices, const PartialShape& data) {
  if (!indices.known_rank() || !data.known_rank() || data.rank() < indices.rank()) {
    return PartialShape::Unknown();
  }
  Dims dims;
  for (int d = indices.rank(); d < data.rank(); ++d) dims.push_back(data.dim(d));
  return PartialShape(std::move(dims));
}

Status CheckPrefix(const PartialShape& indices, const PartialShape& data, const char* what) {
  if (!indices.known_rank() || !data.known_rank()) return OkStatus();
  Status starts = CheckRankAtLeast(data.rank(), indices.rank());
  for (int d = 0; starts.ok() && d < indices.rank(); ++d) {
    starts = MergeDims(data.dim(d), indices.dim(d)).status();
  }
  return Explained(starts, "data.shape = ", data, " does not start with ", what,
                   ".shape = ", indices);
}

Status StitchShape(ShapeContext& c) {
  const int n = c.num_inputs() / 2;
  PartialShape row;
  int64_t size = 0;
  for (int i = 0; i < n; ++i) {
    RETURN_IF_ERROR(CheckPrefix(c.input(i), c.input(n + i), "indices"));
    ASSIGN_OR_RETURN(row, row.MergeWith(RowShape(c.input(i), c.input(n + i))));
    const Tensor indices = c.InputValue(i);
    if (indices.empty()) size = PartialShape::kUnknownDim;
    if (size < 0) continue;
    for (int32_t index : indices.flat<int32_t>())
      size = std::max<int64_t>(size, int64_t{index} + 1);
  }
  c.set_output(0, PartialShape{size}.Concatenate(row));
  return OkStatus();
}

Status PartitionShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckPrefix(c.input(1), c.input(0), "partitions"));
  const PartialShape row = RowShape(c.input(1), c.input(0));
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape{PartialShape::kUnknownDim}.Concatenate(row));
  }
  return OkStatus();
}

// Each value that was stitched in gets back the rows it went to.
Status StitchGradient(GradientContext& c) {
  const int n = c.node().num_inputs() / 2;
  const Output grad = c.grad(0);
  const Output axis = c.b().Const(Tensor::Scalar<int32_t>(0), "axis");
  for (int i = 0; i < n; ++i)
    c.set_input_grad(n + i, c.b().Op("GatherV2", {grad, c.input(i), axis}));
  return c.b().status();
}

// Partitioning the positions in the same way tells where each row came from.
Status PartitionGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  const Output data = c.input(0), partitions = c.input(1);
  const Output shape = b.Op("Shape", {partitions});
  const Output zero = b.Const(Tensor::Scalar<int32_t>(0), "zero");
  const Output count = b.Op("Prod", {shape, b.Const(std::vector<int32_t>{0}, "all")});
  const Output positions = b.Op(
      "Reshape", {b.Op("Range", {zero, count, b.Const(Tensor::Scalar<int32_t>(1), "one")}), shape});
  const int64_t n = c.node().num_outputs();
  Node* split = b.OpNode("DynamicPartition", {positions, partitions}, {{"num_partitions", n}});
  if (split == nullptr) return b.status();
  std::vector<Output> inputs;
  for (int i = 0; i < n; ++i) inputs.push_back({split, i});
  for (int i = 0; i < n; ++i) inputs.push_back(c.grad(i));
  const Output rows = b.Op("DynamicStitch", std::move(inputs), {{"N", n}});
  c.set_input_grad(0, b.Op("Reshape", {rows, b.Op("Shape", {data})}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(dynamic) {
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    registry.Op(op)
        .Shape(StitchShape)
        .Gradient(StitchGradient)
        .Doc("Rows of several values put where their indices say; the last one wins.");
  }
  registry.Op("DynamicPartition")
      .Shape(PartitionShape)
      .Gradient(PartitionGradient)
      .Doc("The rows of data sorted into as many values as there are partitions.");
}
