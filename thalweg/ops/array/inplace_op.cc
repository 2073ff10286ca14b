// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status InplaceShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const PartialShape i, c.InputWithRank(1, 1));
  if (x.known_rank()) {
    PartialShape rows = x;
    rows.set_dim(0, i.dim(0));
    RETURN_IF_ERROR(rows.MergeWith(c.input(2)).status());
  }
  return UnchangedShape(c);
}

// The attribute says it all; every input is one row.
Status ParallelConcatShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  if (shape.known_rank() && shape.rank() > 0) {
    PartialShape row = shape;
    row.set_dim(0, 1);
    for (int i = 0; i < c.num_inputs(); ++i) {
      RETURN_IF_ERROR(row.MergeWith(c.input(i)).status());
    }
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status AttributeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(inplace) {
  constexpr std::string_view kWhy = "TensorFlow defines no gradient of it";
  registry.Op("InplaceUpdate")
      .Shape(InplaceShape)
      .NotDifferentiable(kWhy)
      .Doc("x with the rows that i names replaced by those of v.");
  registry.Op("InplaceAdd")
      .Shape(InplaceShape)
      .NotDifferentiable(kWhy)
      .Doc("x with v added to the rows that i names.");
  registry.Op("InplaceSub")
      .Shape(InplaceShape)
      .NotDifferentiable(kWhy)
      .Doc("x with v subtracted from the rows that i names.");
  registry.Op("ParallelConcat")
      .Shape(ParallelConcatShape)
      .NotDifferentiable(kWhy)
      .Doc("Rows, one of each input, below each other.");
  registry.Op("_ParallelConcatStart")
      .Shape(AttributeShape)
      .NotDifferentiable(kWhy)
      .Doc("The tensor that the rows of a ParallelConcat are put into.");
  registry.Op("_ParallelConcatUpdate")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Puts one row of a ParallelConcat into its place.");
}
