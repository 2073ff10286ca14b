// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status ReverseShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape dims, c.InputWithRank(1, 1));
  const int64_t rank = dims.dim(0);
  if (c.input(0).known_rank()) {
    RETURN_IF_ERROR(CheckRank(c.input(0).rank(), rank));
  } else if (rank >= 0 && rank <= kMaxRank) {
    c.set_output(0, PartialShape::OfRank(static_cast<int>(rank)));
    return OkStatus();
  }
  return UnchangedShape(c);
}

Status ReverseV2Shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  const Tensor axes = c.InputValue(1);
  if (!axes.empty() && c.input(0).known_rank()) {
    std::vector<bool> seen(static_cast<size_t>(c.input(0).rank()));
    for (int64_t i = 0; i < axes.num_elements(); ++i) {
      const int64_t given = IntAt(axes, i);
      const std::optional<int> axis = AxisFromFront(given, c.input(0).rank());
      if (!axis.has_value()) {
        return InvalidArgument("'axis'[", i, "] = ", given, " is out of valid range [0, ",
                               c.input(0).rank() - 1);
      }
      const auto at = static_cast<size_t>(*axis);
      if (seen[at]) return InvalidArgument("axis ", *axis, " specified more than once.");
      seen[at] = true;
    }
  }
  return UnchangedShape(c);
}

Status ReverseGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op(c.node().op_name(), {c.grad(0), c.input(1)}));
  return c.b().status();
}

Status ReverseSequenceShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  ASSIGN_OR_RETURN(const int64_t seq, c.Attr<int64_t>("seq_dim"));
  ASSIGN_OR_RETURN(const int64_t batch, c.Attr<int64_t>("batch_dim"));
  const PartialShape& x = c.input(0);
  if (x.known_rank()) {
    ASSIGN_OR_RETURN(const int seq_dim, NormalizeAxis(seq, x.rank(), "seq_dim"));
    ASSIGN_OR_RETURN(const int batch_dim, NormalizeAxis(batch, x.rank(), "batch_dim"));
    if (seq_dim == batch_dim) return InvalidArgument("batch_dim == seq_dim: both are ", seq_dim);
    RETURN_IF_ERROR(
        MergeDims(x.dim(batch_dim), c.input(1).known_rank() ? c.input(1).dim(0) : -1).status());
  }
  return UnchangedShape(c);
}

Status ReverseSequenceGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op("ReverseSequence", {c.grad(0), c.input(1)},
                               {{"seq_dim", *c.node().FindAttr("seq_dim")},
                                {"batch_dim", *c.node().FindAttr("batch_dim")}}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(reverse) {
  registry.Op("Reverse")
      .Shape(ReverseShape)
      .Gradient(ReverseGradient)
      .Doc("A tensor with the marked dimensions turned round.");
  registry.Op("ReverseV2")
      .Shape(ReverseV2Shape)
      .Gradient(ReverseGradient)
      .Doc("A tensor with the named dimensions turned round.");
  registry.Op("ReverseSequence")
      .Shape(ReverseSequenceShape)
      .Gradient(ReverseSequenceGradient)
      .Doc("The first seq_lengths[i] elements of each sequence turned round.");
}
