// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status SkipgramShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t batch, c.Attr<int64_t>("batch_size"));
  if (batch <= 0) return InvalidArgument("batch_size must be positive, got ", batch);
  for (int i = 0; i < 2; ++i) c.set_output(i, PartialShape{PartialShape::kUnknownDim});
  for (int i = 2; i < 5; ++i) c.set_output(i, PartialShape(Shape()));
  for (int i = 5; i < 7; ++i) c.set_output(i, PartialShape{batch});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(skipgram) {
  registry.Op("Skipgram")
      .Shape(SkipgramShape)
      .NotDifferentiable("it reads a file")
      .Doc("The words of a text file, and pairs of words that stand near each other in it.");
}
