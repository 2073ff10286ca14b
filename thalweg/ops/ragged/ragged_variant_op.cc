// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknownRank = PartialShape::kUnknownDim;

Status ToVariantShape(ShapeContext& c) {
  const int ranks = c.num_inputs() - 1;
  for (int i = 0; i < ranks; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  RETURN_IF_ERROR(c.InputWithRankAtLeast(ranks, 1).status());
  ASSIGN_OR_RETURN(const bool batched, c.Attr<bool>("batched_input"));
  if (!batched) {
    c.set_output(0, Shape());
    return OkStatus();
  }
  const PartialShape& outer = c.input(0);
  const int64_t first = outer.known_rank() ? outer.dim(0) : kUnknownRank;
  c.set_output(0, PartialShape{first > 0 && ranks > 0 ? first - 1 : first});
  return OkStatus();
}

Status ToVariantGradient(GradientContext& c) {
  GradientMath m(c);
  const int ranks = c.node().num_inputs() - 1;
  const Output values = c.input(ranks);
  if (!c.has_grad(0) || !m.status().ok()) return m.status();
  const Output splits =
      ranks > 0 ? c.input(0) : c.b().Const(Tensor::Of<int64_t>({}, Shape{0}), "no_splits");
  c.set_input_grad(ranks,
                   m.Op("RaggedTensorToVariantGradient", {c.grad(0), splits, m.Shape(values)},
                        {{"Tvalues", values.dtype()}}));
  return m.status();
}

Status FromVariantShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t in, c.Attr<int64_t>("input_ragged_rank"));
  const int outputs = c.num_outputs(), ranks = outputs - 1;
  const PartialShape& encoded = c.input(0);
  if (in >= 0 && encoded.known_rank() && in != ranks - encoded.rank()) {
    return InvalidArgument("output_ragged_rank must be input_ragged_rank, ", in,
                           ", plus the rank of encoded_ragged, ", encoded.rank(), ", got ", ranks);
  }
  for (int i = 0; i < ranks; ++i) c.set_output(i, PartialShape{kUnknownRank});
  return OkStatus();
}

Status FromVariantGradient(GradientContext& c) {
  const int last = c.node().num_outputs() - 1;
  if (!c.has_grad(last)) return OkStatus();
  const PartialShape& encoded = c.input(0).shape();
  if (!encoded.known_rank() || encoded.rank() > 1) {
    return Unimplemented("the gradient of RaggedTensorFromVariant where encoded_ragged is neither ",
                         "a scalar nor a vector: ", encoded);
  }
  std::vector<Output> inputs;
  for (int i = 0; i < last; ++i) inputs.push_back(c.output(i));
  inputs.push_back(c.grad(last));
  c.set_input_grad(
      0, c.b().Op("RaggedTensorToVariant", inputs,
                  {{"RAGGED_RANK", int64_t{last}}, {"batched_input", encoded.rank() == 1}}));
  return c.b().status();
}

Status VariantGradientShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(CheckRankAtMost(c.input(2).rank(), 1));
  c.set_output(0, c.InputAsShape(2));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ragged_variant) {
  registry.Op("RaggedTensorFromVariant")
      .Shape(FromVariantShape)
      .Gradient(FromVariantGradient)
      .Doc("The ragged tensor that variants hold, one after the other.");
  registry.Op("RaggedTensorToVariant")
      .Shape(ToVariantShape)
      .Gradient(ToVariantGradient)
      .Doc("A ragged tensor as a variant, or as a vector of one for each row.");
  registry.Op("RaggedTensorToVariantGradient")
      .Shape(VariantGradientShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of RaggedTensorToVariant.");
}
