// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status L2LossGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Mul(c.input(0), c.grad(0)));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(l2_loss) {
  registry.Op("L2Loss").Shape(ScalarShape).Gradient(L2LossGradient).Doc("sum(t^2) / 2.");
}
