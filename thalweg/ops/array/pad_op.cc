// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Dimensions grow (or, `sign` -1, shrink) by what the matrix paddings says.
template <int kSign>
Status PaddedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape paddings, c.InputWithRank(1, 2));
  RETURN_IF_ERROR(CheckDim(paddings.dim(1), 2));
  const PartialShape& x = c.input(0);
  RETURN_IF_ERROR(Explained(CheckRank(x.rank(), paddings.dim(0)),
                            "paddings must have a row for each dimension"));
  const int64_t rows = x.known_rank() ? x.rank() : paddings.dim(0);
  if (rows < 0 || rows > kMaxRank) return OkStatus();
  PartialShape shape = PartialShape::OfRank(static_cast<int>(rows));
  const Tensor value = c.InputValue(1);
  for (int i = 0; i < shape.rank() && !value.empty(); ++i) {
    const int64_t before = IntAt(value, 2 * i);
    const int64_t after = IntAt(value, 2 * i + 1);
    if (before < 0 || after < 0) {
      return InvalidArgument("Paddings must be non-negative: ", before, " ", after);
    }
    if (!x.known_rank() || x.dim(i) < 0) continue;
    int64_t sum = 0;
    int64_t size = 0;
    if (__builtin_add_overflow(before, after, &sum) ||
        __builtin_add_overflow(x.dim(i), kSign * sum, &size) || size < 0) {
      return InvalidArgument("dimension ", i, " of size ", x.dim(i), " cannot be padded by ",
                             before, " and ", after);
    }
    shape.set_dim(i, size);
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status PadV2Shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  return PaddedShape<1>(c);
}

// The middle of the gradient.
Status PadGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  GraphBuilder& b = c.b();
  const Output paddings = c.input(1);
  const Output before =
      b.Op("StridedSlice",
           {paddings, b.Const(std::vector<int32_t>{0, 0}), b.Const(std::vector<int32_t>{0, 1}),
            b.Const(std::vector<int32_t>{1, 1})},
           {{"begin_mask", 1}, {"end_mask", 1}, {"shrink_axis_mask", 2}});
  const Output shape = b.Op("Shape", {c.input(0)}, {{"out_type", paddings.dtype()}});
  c.set_input_grad(0, b.Op("Slice", {c.grad(0), before, shape}));
  return b.status();
}

AttrMap ModeOf(const Node& node) { return {{"mode", *node.FindAttr("mode")}}; }

Status MirrorPadGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op("MirrorPadGrad", {c.grad(0), c.input(1)}, ModeOf(c.node())));
  return c.b().status();
}

Status MirrorPadGradGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op("MirrorPad", {c.grad(0), c.input(1)}, ModeOf(c.node())));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(pad) {
  registry.Op("Pad")
      .Shape(PaddedShape<1>)
      .Gradient(PadGradient)
      .Doc("A tensor with zeros put around it.");
  registry.Op("PadV2")
      .Shape(PadV2Shape)
      .Gradient(PadGradient)
      .Doc(
          "A tensor with a constant put around it; the constant gets no "
          "gradient.");
  registry.Op("MirrorPad")
      .Shape(PaddedShape<1>)
      .Gradient(MirrorPadGradient)
      .Doc("A tensor with its own mirror image put around it.");
  registry.Op("MirrorPadGrad")
      .Shape(PaddedShape<-1>)
      .Gradient(MirrorPadGradGradient)
      .Doc("The gradient of MirrorPad: the borders are folded back and added.");
}
