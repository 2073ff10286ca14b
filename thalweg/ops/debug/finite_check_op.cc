// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/check.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

using Kind = AttrValue::Kind;

// What both have: the values that a node had, their names, and where it runs.
void AddInputs(OpDef* def) {
  def->inputs.push_back({.name = "inputs", .type_list_attr = "Tinputs"});
  def->attrs.push_back({.name = "Tinputs", .kind = Kind::kTypeList, .has_minimum = true});
  def->attrs.push_back({.name = "input_names", .kind = Kind::kStringList, .has_minimum = true});
  // What is checked, for people: "output 0". What comes from elsewhere may be infinite.
  def->attrs.push_back({.name = "what", .kind = Kind::kString});
  def->attrs.push_back({.name = "only_nan", .kind = Kind::kBool, .default_value = false});
  def->attrs.push_back({.name = "loop", .kind = Kind::kString, .default_value = std::string()});
}

OpDef ValueDef() {
  OpDef def;
  def.name = "_CheckFinite";
  AddInputs(&def);
  def.inputs.push_back({.name = "value", .type_attr = "T"});
  def.outputs.push_back({.name = "output", .type_attr = "T"});
  def.attrs.push_back({.name = "T", .kind = Kind::kType});
  return def;
}

OpDef VariableDef() {
  OpDef def;
  def.name = "_CheckFiniteVariable";
  AddInputs(&def);
  def.inputs.push_back({.name = "variable", .type = DType::kResource});
  def.is_stateful = true;
  return def;
}

Status ValueShape(ShapeContext& c) {
  c.set_output(0, c.input(c.num_inputs() - 1));
  return OkStatus();
}

Status NothingShape(ShapeContext&) { return OkStatus(); }

}  // namespace
}  // namespace thalweg

THALWEG_OP(finite_check) {
  constexpr std::string_view kWhy = "it is put into graphs that have their gradients";
  CHECK(registry.Define(ValueDef(), nullptr, nullptr).ok());
  CHECK(registry.Define(VariableDef(), nullptr, nullptr).ok());
  registry.Op("_CheckFinite")
      .Shape(ValueShape)
      .NotDifferentiable(kWhy)
      .Doc("Hands a value on; an error where it is not finite and what its node was given is.");
  registry.Op("_CheckFiniteVariable")
      .Shape(NothingShape)
      .NotDifferentiable(kWhy)
      .Doc("The same for the variable that a node has changed.");
}
