// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/check.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

OpDef TapDef() {
  OpDef def;
  def.name = "_Tap";
  def.is_stateful = true;
  return def;
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tap) {
  CHECK(registry.Define(TapDef(), nullptr, nullptr).ok());
  registry.Op("_Tap")
      .Shape(NoOutputs)
      .NotDifferentiable("it has no inputs")
      .Doc(
          "In a step that has it as a target, all that come behind its first control input come "
          "behind it too.");
}
