// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/queue/other_rows.h"

namespace thalweg {
namespace {

Status BatchShape(ShapeContext& c) {
  const int n = c.num_inputs();
  for (int i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(const PartialShape task, c.InputWithRankAtLeast(i, 1));
    c.set_output(i, OtherRows(task));
  }
  c.set_output(n, PartialShape{-1, 3});
  c.set_output(n + 1, PartialShape(Shape()));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(batch_calls) {
  registry.Op("Batch")
      .Shape(BatchShape)
      .NotDifferentiable("its rows come from other steps")
      .Doc(
          "Puts the rows of concurrent steps into one batch, which the last of them gets; the "
          "others get none.");
}
