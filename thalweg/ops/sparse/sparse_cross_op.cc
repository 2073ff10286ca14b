// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/ops/sparse/sparse_shape.h"

namespace thalweg {
namespace {

Status CrossShape(ShapeContext& c) {
  SetSparseShapes(c, 0, 2);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sparse_cross) {
  const auto add = [&](std::string_view name, std::string_view doc) {
    registry.Op(name).Shape(CrossShape).NotDifferentiable("texts and hashes have none").Doc(doc);
  };
  add("SparseCross", "Every combination of the features in a row, as texts or as hashes of them.");
  add("SparseCrossV2", "Every combination of the features in a row, as joined texts.");
  add("SparseCrossHashed", "Every combination of the features in a row, as hashes.");
}
