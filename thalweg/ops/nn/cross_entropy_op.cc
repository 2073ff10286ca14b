// SPDX-License-Identifier: Apache-2.0
// Cross entropy of softmax(logits): with a distribution, or with one class index per row.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status DenseShape(ShapeContext& c) {
  Result<PartialShape> both = BroadcastShapes(c.input(0), c.input(1));
  RETURN_IF_ERROR(Explained(both.status(), "of logits and labels"));
  if (both->known_rank() && both->rank() != 2) {
    return InvalidArgument("Shape must be broadcasted with rank 2, but is rank ", both->rank(),
                           "; logits and labels are ", c.input(0), " and ", c.input(1));
  }
  const PartialShape matrix = both->known_rank() ? *both : PartialShape::OfRank(2);
  c.set_output(0, PartialShape{matrix.dim(0)});
  c.set_output(1, matrix);
  return OkStatus();
}

Status SparseShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape logits, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape labels, c.InputWithRank(1, 1));
  Result<int64_t> rows = MergeDims(logits.dim(0), labels.dim(0));
  RETURN_IF_ERROR(Explained(rows.status(), "logits and labels must have as many rows"));
  logits.set_dim(0, *rows);
  c.set_output(0, PartialShape{*rows});
  c.set_output(1, logits);
  return OkStatus();
}

// The gradient by the logits: output 1 times the loss's; and of output 1 itself, when asked for:
// softmax * (g - sum(g * softmax)).
Output LogitsGradient(GradientContext& c, GradientMath& m) {
  const Output last = m.Ints({-1});
  const Output by_loss = m.Mul(m.Op("ExpandDims", {c.grad(0), last}), c.output(1));
  if (!c.has_grad(1)) return by_loss;
  const Output grad = c.grad(1), softmax = m.Op("Softmax", {c.input(0)});
  const Output sums = m.Op("Sum", {m.Mul(grad, softmax), last}, {{"keep_dims", true}});
  return m.Add(by_loss, m.Mul(m.Sub(grad, sums), softmax));
}

// Whether one may be repeated to the shape of the other. Of two dimensions that are not known
// nobody asks: they are those of a batch, and of its classes.
bool MayBeRepeated(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank() || a.rank() != b.rank()) return true;
  for (int d = 0; d < a.rank(); ++d) {
    if ((a.dim(d) == 1) != (b.dim(d) == 1)) return true;
  }
  return false;
}

Status DenseGradient(GradientContext& c) {
  GradientMath m(c);
  const Output last = m.Ints({-1});
  const Output logits = LogitsGradient(c, m);
  const Output loss = m.Op("ExpandDims", {c.grad(0), last});
  Output labels = m.Mul(loss, m.Neg(m.Op("LogSoftmax", {c.input(0)})));
  if (c.has_grad(1)) labels = m.Sub(labels, c.grad(1));
  if (MayBeRepeated(c.input(0).shape(), c.input(1).shape())) {
    m.SetBroadcast(logits, labels);
  } else {
    c.set_input_grad(0, logits);
    c.set_input_grad(1, labels);
  }
  return m.status();
}

Status SparseGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, LogitsGradient(c, m));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(cross_entropy) {
  registry.Op("SoftmaxCrossEntropyWithLogits")
      .Shape(DenseShape)
      .Gradient(DenseGradient)
      .Doc("-sum(labels log(softmax(features))) of each row, and its gradient.");
  registry.Op("SparseSoftmaxCrossEntropyWithLogits")
      .Shape(SparseShape)
      .Gradient(SparseGradient)
      .Doc("-log(softmax(features))[label] of each row, and its gradient.");
}
