// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status VocabularyShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  ASSIGN_OR_RETURN(const int64_t count, c.Attr<int64_t>("num_new_vocab"));
  c.set_output(0, PartialShape{count});
  c.set_output(1, Shape());
  return OkStatus();
}

// Inputs: checkpoint, tensor name, rows, columns, values of what is new, in any shape.
Status MatrixShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  for (const int i : {2, 3}) RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
  ASSIGN_OR_RETURN(const int64_t rows, c.Attr<int64_t>("num_rows"));
  ASSIGN_OR_RETURN(const int64_t columns, c.Attr<int64_t>("num_cols"));
  c.set_output(0, PartialShape{rows, columns});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(remapping) {
  registry.Op("GenerateVocabRemapping")
      .Shape(VocabularyShape)
      .NotDifferentiable("it has no numbers as inputs")
      .Doc("Where the lines of one vocabulary file are in another; -1 for those that are new.");
  registry.Op("LoadAndRemapMatrix")
      .Shape(MatrixShape)
      .NotDifferentiable("its values come from a file")
      .Doc("A matrix of a checkpoint with its rows and columns at other places.");
}
