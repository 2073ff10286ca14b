// SPDX-License-Identifier: Apache-2.0
// GatherTree: the sequences of a beam search.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status GatherTreeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape ids, c.InputWithRank(0, 3));
  ASSIGN_OR_RETURN(const PartialShape parents, c.InputWithRank(1, 3));
  ASSIGN_OR_RETURN(const PartialShape lengths, c.InputWithRank(2, 1));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  ASSIGN_OR_RETURN(PartialShape tree, ids.MergeWith(parents));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(tree.dim(1), lengths.dim(0)));
  tree.set_dim(1, batch);
  c.set_output(0, std::move(tree));
  return OkStatus();
}

// The operation was in a library beside TensorFlow 1.15, so the instruction set lacks it.
OpDef GatherTreeDef() {
  OpDef def;
  def.name = "GatherTree";
  def.inputs = {{.name = "step_ids", .type_attr = "T"},
                {.name = "parent_ids", .type_attr = "T"},
                {.name = "max_sequence_lengths", .type = DType::kInt32},
                {.name = "end_token", .type_attr = "T"}};
  def.outputs = {{.name = "beams", .type_attr = "T"}};
  def.attrs = {{.name = "T", .kind = AttrValue::Kind::kType, .allowed_types = {DType::kInt32}}};
  return def;
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(gather_tree) {
  CHECK(registry.Define(GatherTreeDef(), nullptr, nullptr).ok());
  registry.Op("GatherTree")
      .Shape(GatherTreeShape)
      .NotDifferentiable("ids have no derivatives")
      .Doc(
          "Whole sequences of a beam search, from the ids of every step and the beams they came "
          "from.");
}
