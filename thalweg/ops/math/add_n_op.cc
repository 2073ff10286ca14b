// SPDX-License-Identifier: Apache-2.0
// Sums of a list of tensors of one shape.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status AddNGradient(GradientContext& c) {
  const Output grad = c.grad(0);
  for (int i = 0; i < c.node().num_inputs(); ++i) c.set_input_grad(i, grad);
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(add_n) {
  registry.Op("AddN").Shape(MergedInputsShape).Gradient(AddNGradient).Doc("The sum of all inputs.");
  registry.Op("AccumulateNV2")
      .Shape(MergedInputsShape)
      .Gradient(AddNGradient)
      .Doc("The sum of all inputs.");
}
