// SPDX-License-Identifier: Apache-2.0
// Color spaces, and hue, saturation and contrast moved.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Pixels of three numbers; `rank` dimensions at least.
template <int kRank>
Status PixelsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape images, c.InputWithRankAtLeast(0, kRank));
  if (images.known_rank()) {
    const int last = images.rank() - 1;
    RETURN_IF_ERROR(Explained(CheckDim(images.dim(last), 3), "channels of ", images));
    images.set_dim(last, 3);
  }
  if (c.num_inputs() > 1) RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, images);
  return OkStatus();
}

Status ContrastShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape images, c.InputWithRankAtLeast(0, 3));
  for (int i = 1; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  c.set_output(0, images);
  return OkStatus();
}

// With masks of the greatest and least channel. Hue is a difference of the two channels behind the
// greatest one, over six ranges; saturation range over value.
Status HsvGradient(GradientContext& c) {
  GradientMath m(c);
  const Output x = c.input(0), grad = c.grad(0);
  if (!m.status().ok()) return m.status();
  const Output axis = m.Ints({-1});
  const auto reduce = [&](const char* op, Output of) {
    return m.Op(op, {of, axis}, {{"keep_dims", true}});
  };
  const Output zero = m.Number(x, 0), one = m.Number(x, 1);
  const Output three = c.b().Const(Tensor::Scalar<int32_t>(3), "depth");
  const auto mask = [&](const char* op) {
    const Output at = m.Op(op, {x, c.b().Const(Tensor::Scalar<int32_t>(-1), "axis")});
    return m.Op("OneHot", {at, three, one, zero});
  };
  const auto roll = [&](Output of, int by) { return m.Op("Roll", {of, m.Ints({by}), axis}); };
  const Output most = mask("ArgMax"), least = mask("ArgMin");
  const Output value = reduce("Max", x);
  const Output range = m.Sub(value, reduce("Min", x));
  const Output has_range = m.Op("Greater", {range, zero});
  const Output has_value = m.Op("Greater", {value, zero});
  const Output over_range = m.Where(has_range, m.Reciprocal(m.Where(has_range, range, one)), zero);
  const Output over_value = m.Where(has_value, m.Reciprocal(m.Where(has_value, value, one)), zero);
  const Output apart = m.Sub(most, least);
  const Output difference = reduce("Sum", m.Mul(most, m.Sub(roll(x, -1), roll(x, -2))));
  const Output hue = m.Mul(
      m.Scale(over_range, 1.0 / 6),
      m.Sub(m.Sub(roll(most, 1), roll(most, 2)), m.Mul(m.Mul(difference, over_range), apart)));
  const Output saturation = m.Mul(over_value, m.Sub(apart, m.Mul(m.Mul(range, over_value), most)));
  const auto part = [&](int channel) {
    return m.Op("StridedSlice",
                {grad, m.Ints({0, channel}), m.Ints({0, channel + 1}), m.Ints({1, 1})},
                {{"ellipsis_mask", 1}});
  };
  c.set_input_grad(
      0, m.Add(m.Add(m.Mul(part(0), hue), m.Mul(part(1), saturation)), m.Mul(part(2), most)));
  return m.status();
}

Status TurnedShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  ASSIGN_OR_RETURN(const PartialShape images, c.InputWithRankAtLeast(0, 3));
  c.set_output(0, images);
  return OkStatus();
}

// The operation was in a library beside TensorFlow 1.15, so the instruction set lacks it.
OpDef AdjustHsvInYiqDef() {
  OpDef def;
  def.name = "AdjustHsvInYiq";
  def.inputs = {{.name = "images", .type_attr = "T"},
                {.name = "delta_h", .type = DType::kFloat},
                {.name = "scale_s", .type = DType::kFloat},
                {.name = "scale_v", .type = DType::kFloat}};
  def.outputs = {{.name = "output", .type_attr = "T"}};
  def.attrs = {{.name = "T",
                .kind = AttrValue::Kind::kType,
                .allowed_types = {DType::kUint8, DType::kInt8, DType::kInt16, DType::kInt32,
                                  DType::kInt64, DType::kHalf, DType::kFloat, DType::kDouble}}};
  return def;
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(color) {
  CHECK(registry.Define(AdjustHsvInYiqDef(), nullptr, nullptr).ok());
  constexpr std::string_view kWhy = "TensorFlow has no gradient of it either";
  registry.Op("RGBToHSV")
      .Shape(PixelsShape<1>)
      .Gradient(HsvGradient)
      .Doc("Hue, saturation and value of pixels.");
  registry.Op("HSVToRGB")
      .Shape(PixelsShape<1>)
      .NotDifferentiable(kWhy)
      .Doc("Pixels from hue, saturation and value.");
  registry.Op("AdjustHue")
      .Shape(PixelsShape<3>)
      .NotDifferentiable(kWhy)
      .Doc("Pixels with their hue turned.");
  registry.Op("AdjustSaturation")
      .Shape(PixelsShape<3>)
      .NotDifferentiable(kWhy)
      .Doc("Pixels with their saturation multiplied.");
  registry.Op("AdjustContrast")
      .Shape(ContrastShape)
      .NotDifferentiable(kWhy)
      .Doc("Images whose channels are moved away from their means, between two bounds.");
  registry.Op("AdjustContrastv2")
      .Shape(ContrastShape)
      .NotDifferentiable(kWhy)
      .Doc("Images whose channels are moved away from their means.");
  registry.Op("AdjustHsvInYiq")
      .Shape(TurnedShape)
      .NotDifferentiable(kWhy)
      .Doc("Pixels with hue turned, saturation and value multiplied, by a matrix in YIQ.");
}
