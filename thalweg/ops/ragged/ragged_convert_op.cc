// SPDX-License-Identifier: Apache-2.0
// Ragged tensors as sparse and as dense ones.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknownDim;

Status ToSparseShape(ShapeContext& c) {
  const int ranks = c.num_inputs() - 1;
  if (ranks < 1) return InvalidArgument("RAGGED_RANK must be at least one");
  for (int i = 0; i < ranks; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRankAtLeast(ranks, 1));
  const int64_t rank = values.known_rank() ? values.rank() + ranks : kUnknown;
  const int64_t count = values.num_elements();
  c.set_output(0, PartialShape{count, rank});
  c.set_output(1, PartialShape{count});
  c.set_output(2, PartialShape{rank});
  return OkStatus();
}

Status ToSparseGradient(GradientContext& c) {
  if (!c.has_grad(1)) return OkStatus();
  GradientMath m(c);
  const int values = c.node().num_inputs() - 1;
  c.set_input_grad(values, m.Op("Reshape", {c.grad(1), m.Shape(c.input(values))}));
  return m.status();
}

// How many dimensions the rows make, the outermost one included.
Result<int> RaggedDims(const Node& node) {
  ASSIGN_OR_RETURN(const auto types, node.Attr<std::vector<std::string>>("row_partition_types"));
  if (types.empty()) return InvalidArgument("there must be a row partition at least");
  return static_cast<int>(types.size()) + (types[0] == "FIRST_DIM_SIZE" ? 0 : 1);
}

Status ToTensorShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int ragged, RaggedDims(c.node()));
  RETURN_IF_ERROR(CheckRankAtMost(c.input(0).rank(), 1));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRankAtLeast(1, 1));
  const PartialShape wanted = c.InputAsShape(0);
  if (!values.known_rank()) {
    c.set_output(0, wanted);
    return OkStatus();
  }
  const PartialShape other = c.input(2);
  if (other.known_rank() && other.rank() >= values.rank()) {
    return InvalidArgument("default_value.shape=", other,
                           " and rt_input.flat_values.shape=", values,
                           " are incompatible: default_value.rank = ", other.rank(),
                           "  must be less than rt_input.flat_values.rank = ", values.rank());
  }
  PartialShape made = PartialShape::OfRank(ragged);
  Dims inner;
  for (int d = 1; d < values.rank(); ++d) inner.push_back(values.dim(d));
  made = made.Concatenate(PartialShape(inner));
  Result<PartialShape> merged = made.MergeWith(wanted);
  if (!merged.ok()) {
    return InvalidArgument("a ragged tensor of ", ragged, " dimensions with values of shape ",
                           values, " cannot have shape ", wanted);
  }
  c.set_output(0, *merged);
  return OkStatus();
}

// Numbers in place of the values tell which value each place holds; 0: the default.
Status ToTensorGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const int ragged, RaggedDims(c.node()));
  const Output values = c.input(1), other = c.input(2), grad = c.grad(0);
  const auto number = [&](int64_t v) { return c.b().Const(Tensor::Scalar<int64_t>(v), "number"); };
  const auto slice = [&](Output of, Output begin, Output end, int64_t shrink) {
    return m.Op("StridedSlice", {of, begin, end, m.Ints({1})}, {{"shrink_axis_mask", shrink}});
  };
  const auto join = [&](Output a, Output b) {
    return m.Op("ConcatV2", {a, b, c.b().Const(Tensor::Scalar<int32_t>(0), "axis")});
  };
  const Output shape = m.Shape(grad);
  const Output outer = slice(shape, m.Ints({0}), m.Ints({ragged}), 0);
  const Output inner = slice(m.Shape(values), m.Ints({1}), m.Ints({64}), 0);
  const Output count = slice(m.Shape(values, DType::kInt64), m.Ints({0}), m.Ints({1}), 1);
  const Output one = number(1);
  const Output numbers = m.Op("Range", {one, m.Add(count, one), one});
  std::vector<Output> inputs = {outer, numbers, number(0)};
  for (int i = 3; i < c.node().num_inputs(); ++i) inputs.push_back(c.input(i));
  ASSIGN_OR_RETURN(const auto types,
                   c.node().Attr<std::vector<std::string>>("row_partition_types"));
  const Output places =
      m.Op("Reshape",
           {m.Op("RaggedTensorToTensor", inputs, {{"row_partition_types", types}}), m.Ints({-1})});
  const Output height = m.Op("Prod", {outer, m.Ints({0})}, {{"keep_dims", true}});
  const Output rows = m.Op("Reshape", {grad, join(height, inner)});
  const Output segments = m.Sub(places, one);
  c.set_input_grad(1, m.Op("UnsortedSegmentSum", {rows, segments, count}));
  // The places without a value are the default's.
  const Output ids = m.Where(m.Op("Equal", {places, number(0)}), number(0), number(-1));
  const Output sum = m.Op("UnsortedSegmentSum", {rows, ids, one});
  if (!m.status().ok()) return m.status();
  const Output of_default = m.Shape(other);
  Node* const axes = c.b().OpNode("BroadcastGradientArgs", {of_default, join(m.Ints({1}), inner)});
  if (!m.status().ok()) return m.status();
  c.set_input_grad(2, m.Op("Reshape", {m.Op("Sum", {sum, {axes, 0}}), of_default}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ragged_convert) {
  registry.Op("RaggedTensorToSparse")
      .Shape(ToSparseShape)
      .Gradient(ToSparseGradient)
      .Doc("The sparse tensor with the values of a ragged one.");
  registry.Op("RaggedTensorToTensor")
      .Shape(ToTensorShape)
      .Gradient(ToTensorGradient)
      .Doc("The dense tensor with the values of a ragged one, and a default where it has none.");
}
