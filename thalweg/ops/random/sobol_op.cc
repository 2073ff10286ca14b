// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Status SobolShape(ShapeContext& c) {
  int64_t sizes[2] = {PartialShape::kUnknownDim, PartialShape::kUnknownDim};
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
    const Tensor value = c.InputValue(i);
    if (value.empty() || i == 2) continue;
    sizes[i] = IntAt(value, 0);
    if (sizes[i] < 1) {
      return InvalidArgument(i == 0 ? "dim" : "num_results", " must be at least one, got ",
                             sizes[i]);
    }
  }
  c.set_output(0, PartialShape{sizes[1], sizes[0]});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(sobol) {
  registry.Op("SobolSample")
      .Shape(SobolShape)
      .NotDifferentiable("its inputs are integers")
      .Doc("Points of a Sobol sequence: quasi-random numbers spread evenly over the unit cube.");
}
