// SPDX-License-Identifier: Apache-2.0
// The schema that the operations of this family share. Values of a program are numbered: the
// inputs, then the result of each instruction.
//
//   inputs    Tin
//   program   instructions, one a line
//   results   the values that are outputs
//   nodes     by instruction: the user's node that it is, for errors
//   shapes    by output: what was inferred of the user's nodes; a floor for the shape function
//
// Ownership: the registry keeps the schema.
// Threads: before the registry is shared.
// Errors: none; a name that is taken is a bug (CHECK).
#pragma once

#include <string>

#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/fused/fused_shape.h"

namespace thalweg {

inline void DefineFusedOp(OpRegistry& registry, const std::string& name, const char* doc) {
  using Kind = AttrValue::Kind;
  OpDef def;
  def.name = name;
  def.inputs.push_back({.name = "inputs", .type_list_attr = "Tin"});
  def.outputs.push_back({.name = "outputs", .type_list_attr = "Tout"});
  def.attrs = {{.name = "Tin", .kind = Kind::kTypeList, .has_minimum = true, .minimum = 1},
               {.name = "Tout", .kind = Kind::kTypeList, .has_minimum = true, .minimum = 1},
               {.name = "program", .kind = Kind::kStringList, .has_minimum = true, .minimum = 1},
               {.name = "results", .kind = Kind::kIntList, .has_minimum = true, .minimum = 1},
               {.name = "nodes", .kind = Kind::kStringList},
               {.name = "shapes", .kind = Kind::kShapeList}};
  CHECK(registry.Define(std::move(def), nullptr, nullptr).ok());
  registry.Op(name)
      .Shape(FusedShape)
      .NotDifferentiable("it is put in after gradients were added")
      .Doc(doc);
}

}  // namespace thalweg
