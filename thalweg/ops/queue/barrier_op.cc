// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// A reference is a vector of container and name.
Status ReferenceShape(ShapeContext& c) {
  c.set_output(0, PartialShape{2});
  return OkStatus();
}

// Inputs: handle, keys, values.
Status InsertShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape keys, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRankAtLeast(2, 1));
  if (!values.known_rank()) return OkStatus();
  return keys.MergeWith(PartialShape{values.dim(0)}).status();
}

// How many elements come is known only when they come: a closed barrier gives what it has.
Status BarrierTakeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape{-1});
  c.set_output(1, PartialShape{-1});
  const Node* const maker = c.node().input(0).node;
  if (maker == nullptr || maker->op_name() != "Barrier") return OkStatus();
  const Result<std::vector<PartialShape>> shapes = maker->Attr<std::vector<PartialShape>>("shapes");
  if (!shapes.ok() || static_cast<int>(shapes->size()) + 2 != c.num_outputs()) return OkStatus();
  for (size_t i = 0; i < shapes->size(); ++i) {
    c.set_output(static_cast<int>(i) + 2, PartialShape{-1}.Concatenate((*shapes)[i]));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(barrier) {
  constexpr std::string_view kWhy = "what is in a barrier comes from other steps";
  const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
    registry.Op(name).Shape(shape).NotDifferentiable(kWhy).Doc(doc);
  };
  add("Barrier", ReferenceShape, "Elements by key, whose components come one by one.");
  add("BarrierInsertMany", InsertShape, "Gives elements, by their keys, one of their components.");
  add("BarrierTakeMany", BarrierTakeShape, "Takes elements that have all their components; waits.");
  add("BarrierClose", NoOutputs, "Says that no new keys will be put into a barrier.");
  add("BarrierReadySize", ScalarShape, "How many elements have all their components.");
  add("BarrierIncompleteSize", ScalarShape, "How many elements still lack components.");
}
