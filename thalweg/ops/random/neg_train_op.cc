// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status NegTrainShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape in, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape out, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const PartialShape examples, c.InputWithRank(2, 1));
  ASSIGN_OR_RETURN(const PartialShape labels, c.InputWithRank(3, 1));
  RETURN_IF_ERROR(c.InputWithRank(4, 0).status());
  for (int d = 0; d < 2; ++d) RETURN_IF_ERROR(MergeDims(in.dim(d), out.dim(d)).status());
  return MergeDims(examples.dim(0), labels.dim(0)).status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(neg_train) {
  registry.Op("NegTrain")
      .Shape(NegTrainShape)
      .NotDifferentiable("it is an optimizer")
      .Doc("One step of word vectors towards what stands beside a word, away from words drawn.");
}
