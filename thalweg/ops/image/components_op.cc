// SPDX-License-Identifier: Apache-2.0
// ImageConnectedComponents.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ComponentsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape images, c.InputWithRank(0, 3));
  c.set_output(0, images);
  return OkStatus();
}

// The operation was in a library beside TensorFlow 1.15, so the instruction set lacks it.
OpDef ComponentsDef() {
  OpDef def;
  def.name = "ImageConnectedComponents";
  def.inputs = {{.name = "image", .type_attr = "dtype"}};
  def.outputs = {{.name = "components", .type = DType::kInt64}};
  def.attrs = {{.name = "dtype",
                .kind = AttrValue::Kind::kType,
                .allowed_types = {DType::kInt64, DType::kInt32, DType::kUint16, DType::kInt16,
                                  DType::kUint8, DType::kInt8, DType::kHalf, DType::kFloat,
                                  DType::kDouble, DType::kBool, DType::kString}}};
  return def;
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(components) {
  CHECK(registry.Define(ComponentsDef(), nullptr, nullptr).ok());
  registry.Op("ImageConnectedComponents")
      .Shape(ComponentsShape)
      .NotDifferentiable("its output is an integer")
      .Doc("Pixels of equal value that touch, numbered from 1; 0 where the value is nothing.");
}
