// SPDX-License-Identifier: Apache-2.0
// ImageProjectiveTransform in all versions.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr std::string_view kFirst = "ImageProjectiveTransform";

Status TransformedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape images, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape transforms, c.InputWithRank(1, 2));
  if (transforms.dim(1) >= 0 && transforms.dim(1) != 8) {
    return InvalidArgument("Input transform should be num_images x 8 or 1 x 8, got shape ",
                           transforms.ToString());
  }
  if (c.num_inputs() == 2) {
    c.set_output(0, images);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const PartialShape given, c.InputWithRank(2, 1));
  if (given.dim(0) >= 0 && given.dim(0) != 2) {
    return InvalidArgument("output shape must have two elements, got ", given.dim(0));
  }
  if (c.num_inputs() > 3) RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  const PartialShape size = c.InputAsShape(2);
  const auto side = [&](int i) { return size.known_rank() ? size.dim(i) : -1; };
  c.set_output(0, PartialShape{images.dim(0), side(0), side(1), images.dim(3)});
  return OkStatus();
}

// Not the derivative but, as in TensorFlow, the gradient seen through the inverse map.
Status TransformGradient(GradientContext& c) {
  GradientMath m(c);
  const DType type = c.node().input_type(0);
  if (!IsFloating(type)) return m.status();
  const Output transforms = c.input(1), one = m.Ints({1});
  if (!m.status().ok()) return m.status();
  const Output first = m.Op("StridedSlice", {m.Shape(transforms), m.Ints({0}), one, one});
  const Output ones =
      m.Op("Fill", {m.Op("ConcatV2", {first, one, c.b().ScalarConst(DType::kInt32, 0)}),
                    m.Number(transforms, 1.0)});
  const Output nine = m.Op("ConcatV2", {transforms, ones, c.b().ScalarConst(DType::kInt32, 1)});
  const Output inverse = m.Op("MatrixInverse", {m.Op("Reshape", {nine, m.Ints({-1, 3, 3})})});
  const Output flat = m.Op("Reshape", {inverse, m.Ints({-1, 9})});
  const Output columns = m.Ints({-1, 8});
  const Output last = m.Op("Slice", {flat, m.Ints({0, 8}), m.Ints({-1, 1})});
  const Output back = m.Op("Slice", {m.Div(flat, last), m.Ints({0, 0}), columns});
  const Output size = m.Op("StridedSlice", {m.Shape(c.input(0)), one, m.Ints({3}), one});
  std::vector<Output> inputs = {c.grad(0), back, size};
  if (c.node().num_inputs() > 3) inputs.push_back(m.Number(transforms, 0.0));
  AttrMap attrs;
  for (const char* name : {"interpolation", "fill_mode"}) {
    if (const AttrValue* value = c.node().FindAttr(name); value != nullptr) attrs.Set(name, *value);
  }
  const bool is_first = c.node().op_name() == kFirst;
  c.set_input_grad(
      0, m.Op(is_first ? "ImageProjectiveTransformV2" : c.node().op_name(), inputs, attrs));
  return m.status();
}

// The first version was in a library beside TensorFlow 1.15, so the instruction set lacks it.
OpDef FirstDef() {
  OpDef def;
  def.name = kFirst;
  def.inputs = {{.name = "images", .type_attr = "dtype"},
                {.name = "transforms", .type = DType::kFloat}};
  def.outputs = {{.name = "transformed_images", .type_attr = "dtype"}};
  def.attrs = {{.name = "dtype",
                .kind = AttrValue::Kind::kType,
                .allowed_types = {DType::kUint8, DType::kInt32, DType::kInt64, DType::kHalf,
                                  DType::kFloat, DType::kDouble}},
               {.name = "interpolation", .kind = AttrValue::Kind::kString}};
  return def;
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(projective) {
  CHECK(registry.Define(FirstDef(), nullptr, nullptr).ok());
  registry.Op("ImageProjectiveTransform")
      .Shape(TransformedShape)
      .Gradient(TransformGradient)
      .Doc("Images seen through a projective map, of the same size, black outside.");
  registry.Op("ImageProjectiveTransformV2")
      .Shape(TransformedShape)
      .Gradient(TransformGradient)
      .Doc("Images seen through a projective map, black outside.");
  registry.Op("ImageProjectiveTransformV3")
      .Shape(TransformedShape)
      .Gradient(TransformGradient)
      .Doc("Images seen through a projective map.");
}
