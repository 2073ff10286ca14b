// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status MakeEnsembleShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return OkStatus();
}

Status EnsembleScalarsShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return ScalarShape(c);
}

Status EnsembleStatesShape(ShapeContext& c) {
  RETURN_IF_ERROR(EnsembleScalarsShape(c));
  c.set_output(4, PartialShape{2});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tree_ensemble) {
  constexpr std::string_view kWhy = "a tree ensemble has no derivative";
  registry.Op("BoostedTreesEnsembleResourceHandleOp")
      .Shape(ScalarShape)
      .NotDifferentiable(kWhy)
      .Doc("Handle to a tree ensemble, which BoostedTreesCreateEnsemble makes.");
  registry.Op("BoostedTreesCreateEnsemble")
      .Shape(MakeEnsembleShape)
      .NotDifferentiable(kWhy)
      .Doc("Makes the ensemble from a serialized one, unless it is there.");
  registry.Op("BoostedTreesDeserializeEnsemble")
      .Shape(MakeEnsembleShape)
      .NotDifferentiable(kWhy)
      .Doc("Replaces the ensemble and its stamp by a serialized one.");
  registry.Op("BoostedTreesSerializeEnsemble")
      .Shape(EnsembleScalarsShape)
      .NotDifferentiable(kWhy)
      .Doc("The ensemble as a message, and its stamp.");
  registry.Op("BoostedTreesGetEnsembleStates")
      .Shape(EnsembleStatesShape)
      .NotDifferentiable(kWhy)
      .Doc("How far the ensemble has grown, and which nodes are its last layer.");
  registry.Op("IsBoostedTreesEnsembleInitialized")
      .Shape(EnsembleScalarsShape)
      .NotDifferentiable(kWhy)
      .Doc("Whether the ensemble was made.");
}
