// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

bool IsContinuous(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

// Gradients pass between floating types; integers have none.
Status CastGradient(GradientContext& c) {
  GradientMath m(c);
  const DType from = c.node().input_type(0), to = c.node().output_type(0);
  if (!IsContinuous(from) || !IsContinuous(to)) return OkStatus();
  c.set_input_grad(0, m.Op("Cast", {c.grad(0)}, {{"DstT", from}}));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(cast) {
  registry.Op("Cast").Shape(UnchangedShape).Gradient(CastGradient).Doc("Converts every element.");
}
