// SPDX-License-Identifier: Apache-2.0
// _PackMatrix: b of matrix products in the form that their inner loop reads; which form depends on
// the instruction set. _PackedMatMul: a product that reads it; b itself gives the shape.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/math/matmul_shape.h"
#include "thalweg/ops/math/pack_matrix_shape.h"

namespace thalweg {
namespace {

using Kind = AttrValue::Kind;

Status PackMatrixShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const bool transpose, c.Attr<bool>("transpose"));
  const int64_t n = b.dim(transpose ? 0 : 1), k = b.dim(transpose ? 1 : 0);
  if (n < 0 || k < 0) {
    c.set_output(0, PartialShape{-1});
    return OkStatus();
  }
  const int64_t room = RoomForPacked(n, k);
  if (room < 0) return InvalidArgument("the matrix ", b.ToString(), " is too large to pack");
  c.set_output(0, PartialShape{room});
  return OkStatus();
}

OpDef PackMatrixDef() {
  OpDef def;
  def.name = "_PackMatrix";
  def.inputs.push_back({.name = "b", .type = DType::kFloat});
  def.outputs.push_back({.name = "packed", .type = DType::kFloat});
  def.attrs = {{.name = "transpose", .kind = Kind::kBool, .default_value = AttrValue(false)}};
  return def;
}

OpDef PackedMatMulDef() {
  OpDef def;
  def.name = "_PackedMatMul";
  for (const char* name : {"a", "b", "packed"}) {
    def.inputs.push_back({.name = name, .type = DType::kFloat});
  }
  def.inputs.push_back({.name = "args", .type = DType::kFloat, .number_attr = "num_args"});
  def.outputs.push_back({.name = "product", .type = DType::kFloat});
  def.attrs = {{.name = "num_args", .kind = Kind::kInt, .has_minimum = true, .minimum = 0},
               {.name = "transpose_a", .kind = Kind::kBool, .default_value = AttrValue(false)},
               {.name = "transpose_b", .kind = Kind::kBool, .default_value = AttrValue(false)},
               {.name = "fused_ops",
                .kind = Kind::kStringList,
                .default_value = AttrValue(std::vector<std::string>())},
               {.name = "leakyrelu_alpha", .kind = Kind::kFloat, .default_value = AttrValue(0.2f)}};
  return def;
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(pack_matrix) {
  constexpr const char* kWhyNot = "rewrites make it, after gradients are made";
  CHECK(registry.Define(PackMatrixDef(), nullptr, nullptr).ok());
  registry.Op("_PackMatrix")
      .Shape(PackMatrixShape)
      .NotDifferentiable(kWhyNot)
      .Doc("A matrix in the form that products read fastest, for _PackedMatMul.");
  CHECK(registry.Define(PackedMatMulDef(), nullptr, nullptr).ok());
  registry.Op("_PackedMatMul")
      .Shape(MatMulShape)
      .NotDifferentiable(kWhyNot)
      .Doc("_FusedMatMul whose b was packed by _PackMatrix.");
}
