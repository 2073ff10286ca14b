// SPDX-License-Identifier: Apache-2.0
// _FusedReduction: element-wise nodes and the reductions of what they make, in one pass over memory
// where shapes allow it. Attributes are those of _FusedElementwise; an instruction may also be
// "Sum 2 axes 0,-1 keep", see compute/ew/reduced_program.h.
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

THALWEG_OP(fused_reduction) {
  using Kind = AttrValue::Kind;
  OpDef def;
  def.name = "_FusedReduction";
  def.inputs.push_back({.name = "inputs", .type_list_attr = "Tin"});
  def.outputs.push_back({.name = "outputs", .type_list_attr = "Tout"});
  def.attrs = {{.name = "Tin", .kind = Kind::kTypeList, .has_minimum = true, .minimum = 1},
               {.name = "Tout", .kind = Kind::kTypeList, .has_minimum = true, .minimum = 1},
               {.name = "program", .kind = Kind::kStringList, .has_minimum = true, .minimum = 1},
               {.name = "results", .kind = Kind::kIntList, .has_minimum = true, .minimum = 1},
               {.name = "nodes", .kind = Kind::kStringList},
               {.name = "shapes", .kind = Kind::kShapeList}};
  CHECK(registry.Define(std::move(def), nullptr, nullptr).ok());
  registry.Op("_FusedReduction")
      .Shape(FusedShape)
      .NotDifferentiable("it is put in after gradients were added")
      .Doc("Element-wise operations and reductions as one pass over memory.");
}
