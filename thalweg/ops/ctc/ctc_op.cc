// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknownDim;

Status LossShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape inputs, c.InputWithRank(0, 3));
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRank(2, 1));
  ASSIGN_OR_RETURN(const PartialShape lengths, c.InputWithRank(3, 1));
  RETURN_IF_ERROR(MergeDims(indices.dim(0), values.dim(0)).status());
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(inputs.dim(1), lengths.dim(0)));
  c.set_output(0, PartialShape{batch});
  c.set_output(1, PartialShape{inputs.dim(0), batch, inputs.dim(2)});
  return OkStatus();
}

// The second output is the gradient; each sequence's is weighted by what comes
// in.
Status LossGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GradientMath m(c);
  const Output weights = m.Op("Reshape", {c.grad(0), m.Ints({1, -1, 1})});
  c.set_input_grad(0, m.Mul(weights, c.output(1)));
  return m.status();
}

// Sparse tensors of labels, one for each path, then the probabilities.
Status DecoderShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape inputs, c.InputWithRank(0, 3));
  ASSIGN_OR_RETURN(const PartialShape lengths, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(inputs.dim(1), lengths.dim(0)));
  const int paths = (c.num_outputs() - 1) / 3;
  for (int i = 0; i < paths; ++i) {
    c.set_output(i, PartialShape{kUnknown, 2});
    c.set_output(paths + i, PartialShape{kUnknown});
    c.set_output(2 * paths + i, PartialShape{2});
  }
  c.set_output(3 * paths, PartialShape{batch, paths});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(ctc) {
  registry.Op("CTCLoss")
      .Shape(LossShape)
      .Gradient(LossGradient)
      .Doc(
          "How improbable label sequences are, whatever their alignment, and "
          "the gradient of it.");
  registry.Op("CTCGreedyDecoder")
      .Shape(DecoderShape)
      .NotDifferentiable("its output are labels")
      .Doc("The labels of the most probable alignment.");
  registry.Op("CTCBeamSearchDecoder")
      .Shape(DecoderShape)
      .NotDifferentiable("its output are labels")
      .Doc("The most probable label sequences that a search with a beam finds.");
}
