// SPDX-License-Identifier: Apache-2.0
// _StartProducts, _AddProduct, _EndProducts: a matrix plus the products that the iterations of a
// loop make. The sum on its way is a variant: operands of little depth are gathered in it until one
// product of them all pays.
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/math/matmul_shape.h"

namespace thalweg {
namespace {

using Kind = AttrValue::Kind;

Status StartShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  return ScalarShape(c);
}

Status AddShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape a, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(2, 2));
  ASSIGN_OR_RETURN(const bool transpose_a, c.Attr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool transpose_b, c.Attr<bool>("transpose_b"));
  if (!MergeDims(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0)).ok()) {
    return InvalidArgument("inner dimensions differ: a is ", a.ToString(),
                           transpose_a ? " transposed" : "", ", b is ", b.ToString(),
                           transpose_b ? " transposed" : "");
  }
  return ScalarShape(c);
}

Status EndShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, shape);
  return OkStatus();
}

OpDef Def(std::string name, std::vector<ArgDef> inputs, ArgDef output) {
  OpDef def;
  def.name = std::move(name);
  def.inputs = std::move(inputs);
  def.outputs.push_back(std::move(output));
  def.attrs = {
      {.name = "T", .kind = Kind::kType, .allowed_types = {DType::kFloat, DType::kDouble}}};
  return def;
}

void DefineSumProducts(OpRegistry& registry) {
  const ArgDef sum = {.name = "sum", .type = DType::kVariant};
  OpDef start = Def("_StartProducts", {{.name = "initial", .type_attr = "T"}}, sum);
  OpDef add = Def("_AddProduct",
                  {sum, {.name = "a", .type_attr = "T"}, {.name = "b", .type_attr = "T"}}, sum);
  add.outputs[0].name = "more";
  for (const char* name : {"transpose_a", "transpose_b"}) {
    add.attrs.push_back({.name = name, .kind = Kind::kBool, .default_value = AttrValue(false)});
  }
  OpDef end = Def("_EndProducts", {sum}, {.name = "total", .type_attr = "T"});
  end.attrs.push_back(
      {.name = "shape", .kind = Kind::kShape, .default_value = AttrValue(PartialShape::Unknown())});
  for (OpDef* def : {&start, &add, &end}) {
    CHECK(registry.Define(std::move(*def), nullptr, nullptr).ok());
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sum_products) {
  constexpr const char* kWhyNot = "rewrites make it, after gradients are made";
  DefineSumProducts(registry);
  registry.Op("_StartProducts")
      .Shape(StartShape)
      .NotDifferentiable(kWhyNot)
      .Doc("A sum of products, so far this matrix.");
  registry.Op("_AddProduct")
      .Shape(AddShape)
      .NotDifferentiable(kWhyNot)
      .Doc("A sum of products with one more, that of a and b.");
  registry.Op("_EndProducts")
      .Shape(EndShape)
      .NotDifferentiable(kWhyNot)
      .Doc("What a sum of products amounts to.");
}
