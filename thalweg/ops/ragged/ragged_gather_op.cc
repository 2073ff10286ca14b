// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknownGathered = PartialShape::kUnknownDim;

// Inputs: splits of the parameters, their values, indices. Outputs: splits, values.
Status GatherShape(ShapeContext& c) {
  const int ranks = c.num_inputs() - 2;
  for (int i = 0; i < ranks; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRankAtLeast(ranks, 1));
  const PartialShape& indices = c.input(ranks + 1);
  ASSIGN_OR_RETURN(const int64_t out_ranks, c.Attr<int64_t>("OUTPUT_RAGGED_RANK"));
  RETURN_IF_ERROR(Explained(
      CheckRank(indices.rank(), out_ranks - ranks + 1), "OUTPUT_RAGGED_RANK, ", out_ranks,
      ", must be the rank of the indices plus PARAMS_RAGGED_RANK, ", ranks, ", less one"));
  const int outputs = c.num_outputs();
  for (int i = 0; i < outputs - 1; ++i) c.set_output(i, PartialShape{kUnknownGathered});
  PartialShape gathered = values;
  if (gathered.known_rank()) gathered.set_dim(0, kUnknownGathered);
  c.set_output(outputs - 1, gathered);
  return OkStatus();
}

// The same rows of the values' places tell where each value came from.
Status GatherGradient(GradientContext& c) {
  const int ranks = c.node().num_inputs() - 2, last = c.node().num_outputs() - 1;
  if (!c.has_grad(last)) return OkStatus();
  GradientMath m(c);
  const Output values = c.input(ranks);
  const Output shape = m.Shape(values, DType::kInt64);
  const auto number = [&](int64_t v) { return c.b().Const(Tensor::Scalar<int64_t>(v), "number"); };
  const Output count = m.Op("StridedSlice", {shape, m.Ints({0}), m.Ints({1}), m.Ints({1})},
                            {{"shrink_axis_mask", 1}});
  std::vector<Output> inputs;
  for (int i = 0; i < ranks; ++i) inputs.push_back(c.input(i));
  inputs.push_back(m.Op("Range", {number(0), count, number(1)}));
  inputs.push_back(c.input(ranks + 1));
  ASSIGN_OR_RETURN(const int64_t out_ranks, c.node().Attr<int64_t>("OUTPUT_RAGGED_RANK"));
  if (!m.status().ok()) return m.status();
  Node* const places =
      c.b().OpNode("RaggedGather", inputs,
                   {{"PARAMS_RAGGED_RANK", int64_t{ranks}}, {"OUTPUT_RAGGED_RANK", out_ranks}});
  if (!m.status().ok()) return m.status();
  c.set_input_grad(ranks, GradientValue{c.grad(last), Output{places, last}, shape});
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ragged_gather) {
  registry.Op("RaggedGather")
      .Shape(GatherShape)
      .Gradient(GatherGradient)
      .Doc("Rows of a ragged tensor, picked by index.");
}
