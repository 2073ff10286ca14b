// SPDX-License-Identifier: Apache-2.0
// BipartiteMatch.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status MatchShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape distances, c.InputWithRank(0, 2));
  c.set_output(0, PartialShape{distances.dim(0)});
  c.set_output(1, PartialShape{distances.dim(1)});
  return OkStatus();
}

// The operation was in a library beside TensorFlow 1.15, so the instruction set lacks it.
OpDef MatchDef() {
  OpDef def;
  def.name = "BipartiteMatch";
  def.inputs = {{.name = "distance_mat", .type = DType::kFloat},
                {.name = "num_valid_rows", .type = DType::kFloat}};
  def.outputs = {{.name = "row_to_col_match_indices", .type = DType::kInt32},
                 {.name = "col_to_row_match_indices", .type = DType::kInt32}};
  def.attrs = {
      {.name = "top_k", .kind = AttrValue::Kind::kInt, .default_value = AttrValue(int64_t{-1})}};
  def.is_stateful = true;
  return def;
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(bipartite_match) {
  CHECK(registry.Define(MatchDef(), nullptr, nullptr).ok());
  registry.Op("BipartiteMatch")
      .Shape(MatchShape)
      .NotDifferentiable("its outputs are integers")
      .Doc("Rows and columns in pairs, the nearest pair of what is left first.");
}
