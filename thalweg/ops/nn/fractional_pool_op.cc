// SPDX-License-Identifier: Apache-2.0
// FractionalMaxPool and FractionalAvgPool, and their gradients.
#include <cmath>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/nn/fractional_pool_attrs.h"

namespace thalweg {
namespace {

Status FractionalShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const auto ratio, ParseRatio(c));
  ASSIGN_OR_RETURN(PartialShape image, c.InputWithRank(0, 4));
  for (int d : {1, 2}) {
    const int64_t size = image.dim(d);
    if (size >= 0) {
      ASSIGN_OR_RETURN(const int64_t out, PooledSize(size, ratio[static_cast<size_t>(d)], d));
      image.set_dim(d, out);
    }
    const int64_t out = image.dim(d);
    c.set_output(d, PartialShape{out < 0 ? PartialShape::kUnknownDim : out + 1});
  }
  c.set_output(0, image);
  return OkStatus();
}

Status MaxGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape image, c.InputWithRank(0, 4));
  c.set_output(0, image);
  return OkStatus();
}

Status AvgGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  const PartialShape image = c.InputAsShape(0);
  RETURN_IF_ERROR(Explained(CheckRank(image.rank(), 4), "of orig_input_tensor_shape"));
  c.set_output(0, image.known_rank() ? image : PartialShape::OfRank(4));
  return OkStatus();
}

AttrMap Overlapping(const Node& node) { return {{"overlapping", *node.FindAttr("overlapping")}}; }

Status MaxGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("FractionalMaxPoolGrad",
                           {c.input(0), c.output(0), c.grad(0), c.output(1), c.output(2)},
                           Overlapping(c.node())));
  return m.status();
}

Status AvgGradient(GradientContext& c) {
  GradientMath m(c);
  const Output shape = m.Shape(c.input(0), DType::kInt64);
  c.set_input_grad(0, m.Op("FractionalAvgPoolGrad", {shape, c.grad(0), c.output(1), c.output(2)},
                           Overlapping(c.node())));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(fractional_pool) {
  registry.Op("FractionalMaxPool")
      .Shape(FractionalShape)
      .Gradient(MaxGradient)
      .Doc("The largest element of windows of random, unequal sizes.");
  registry.Op("FractionalAvgPool")
      .Shape(FractionalShape)
      .Gradient(AvgGradient)
      .Doc("The mean of windows of random, unequal sizes.");
  registry.Op("FractionalMaxPoolGrad")
      .Shape(MaxGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of FractionalMaxPool.");
  registry.Op("FractionalAvgPoolGrad")
      .Shape(AvgGradShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The gradient of FractionalAvgPool.");
}
