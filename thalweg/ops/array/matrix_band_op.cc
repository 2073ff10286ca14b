// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status MatrixBandShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRankAtLeast(0, 2));
  for (int i = 1; i < 3; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
    const Tensor bound = c.InputValue(i);
    if (bound.empty() || !x.known_rank()) continue;
    const int64_t size = x.dim(x.rank() - 3 + i);
    if (size < 0 || IntAt(bound, 0) <= size) continue;
    return InvalidArgument(i == 1 ? "num_lower must be negative or less or equal to number of rows"
                                  : "num_upper must be negative or less or equal to number of "
                                    "columns",
                           " (", size, ") got: ", IntAt(bound, 0));
  }
  return UnchangedShape(c);
}

Status MatrixBandGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, c.b().Op(c.node().op_name(), {c.grad(0), c.input(1), c.input(2)}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(matrix_band) {
  for (const char* name : {"MatrixBandPart", "BatchMatrixBandPart"}) {
    registry.Op(name)
        .Shape(MatrixBandShape)
        .Gradient(MatrixBandGradient)
        .Doc("Matrices with zeros outside a band around the main diagonal.");
  }
}
