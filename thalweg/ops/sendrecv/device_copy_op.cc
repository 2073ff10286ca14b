// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

void DefineCopy(OpRegistry& registry, const std::string& name, const char* doc) {
  OpDef def;
  def.name = name;
  def.inputs.push_back({.name = "tensor", .type_attr = "T"});
  def.outputs.push_back({.name = "copy", .type_attr = "T"});
  def.attrs = {{.name = "T", .kind = AttrValue::Kind::kType}};
  CHECK(registry.Define(std::move(def), nullptr, nullptr).ok());
  registry.Op(name)
      .Shape(UnchangedShape)
      .NotDifferentiable("it is put in after gradients were added")
      .Doc(doc);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(device_copy) {
  DefineCopy(registry, "_CopyToHost", "A tensor of the device's memory, copied to the host's.");
  DefineCopy(registry, "_CopyFromHost", "A tensor of the host's memory, copied to the device's.");
  DefineCopy(registry, "_CopyFromPeer",
             "A tensor of another device's memory, copied to this one's without the host's.");
}
