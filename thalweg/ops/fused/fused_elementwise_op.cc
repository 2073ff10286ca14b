// SPDX-License-Identifier: Apache-2.0
// _FusedElementwise: what a tree of element-wise nodes computes, in one pass over memory. Values
// are numbered: the inputs, then the result of each instruction.
//
//   inputs    Tin
//   program   instructions: "Mul 0 1", "Tanh 2"; see compute/ew/program.h
//   results   the values that are outputs
//   nodes     by instruction: the user's node that it is, for errors
//   shapes    by output: what was inferred of the user's nodes
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status FusedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes,
                   c.Attr<std::vector<PartialShape>>("shapes"));
  for (int i = 0; i < c.num_outputs() && i < static_cast<int>(shapes.size()); ++i) {
    c.set_output(i, shapes[static_cast<size_t>(i)]);
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(fused_elementwise) {
  using Kind = AttrValue::Kind;
  OpDef def;
  def.name = "_FusedElementwise";
  def.inputs.push_back({.name = "inputs", .type_list_attr = "Tin"});
  def.outputs.push_back({.name = "outputs", .type_list_attr = "Tout"});
  def.attrs = {{.name = "Tin", .kind = Kind::kTypeList, .has_minimum = true, .minimum = 1},
               {.name = "Tout", .kind = Kind::kTypeList, .has_minimum = true, .minimum = 1},
               {.name = "program", .kind = Kind::kStringList, .has_minimum = true, .minimum = 1},
               {.name = "results", .kind = Kind::kIntList, .has_minimum = true, .minimum = 1},
               {.name = "nodes", .kind = Kind::kStringList},
               {.name = "shapes", .kind = Kind::kShapeList}};
  CHECK(registry.Define(std::move(def), nullptr, nullptr).ok());
  registry.Op("_FusedElementwise")
      .Shape(FusedShape)
      .NotDifferentiable("it is put in after gradients were added")
      .Doc("Several element-wise operations as one pass over memory.");
}
