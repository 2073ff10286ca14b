// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr std::string_view kWhyAccumulator = "what is in an accumulator comes from other steps";

Status HandleOutput(ShapeContext& c) {
  const bool is_reference = c.node().output_type(0) == DType::kString;
  c.set_output(0, is_reference ? PartialShape{2} : PartialShape(Shape()));
  return OkStatus();
}

Status ScalarInputs(ShapeContext& c) { return c.InputWithRank(1, 0).status(); }

Status TakeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const Node* maker = c.node().input(0).node;
  if (maker == nullptr) return OkStatus();
  const Result<PartialShape> shape = maker->Attr<PartialShape>("shape");
  if (shape.ok()) c.set_output(0, *shape);
  return OkStatus();
}

Status SparseTakeShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape{-1});
  c.set_output(2, PartialShape{-1});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(accumulator) {
  const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
    registry.Op(name).Shape(shape).NotDifferentiable(kWhyAccumulator).Doc(doc);
  };
  constexpr std::string_view kMaker = "Adds up gradients until they are taken.";
  add("ConditionalAccumulator", HandleOutput, kMaker);
  add("ResourceConditionalAccumulator", HandleOutput, kMaker);
  add("SparseConditionalAccumulator", HandleOutput, kMaker);
  for (const char* kind : {"", "Resource"}) {
    add(StrCat(kind, "AccumulatorApplyGradient"), ScalarInputs,
        "Adds a gradient, unless it is of an older step.");
    add(StrCat(kind, "AccumulatorNumAccumulated"), ScalarShape, "How many gradients are there.");
    add(StrCat(kind, "AccumulatorSetGlobalStep"), ScalarInputs,
        "Sets the step before which gradients are stale.");
    add(StrCat(kind, "AccumulatorTakeGradient"), TakeShape,
        "Mean or sum of the gradients; waits until enough are there.");
  }
  add("SparseAccumulatorApplyGradient", ScalarInputs,
      "Adds the rows of a gradient, unless it is of an older step.");
  add("SparseAccumulatorTakeGradient", SparseTakeShape,
      "Mean or sum of the rows; waits until enough gradients are there.");
}
