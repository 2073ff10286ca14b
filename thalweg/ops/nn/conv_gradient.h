// SPDX-License-Identifier: Apache-2.0
// The gradients of a convolution and of the two operations that compute them: each is made of the
// other two. Private to this family.
// Ownership: nodes belong to the graph.
// Threads: those of the gradient context: one at a time.
// Errors: those of the builder.
#pragma once

#include "thalweg/graph/gradient_math.h"
#include "thalweg/ops/nn/conv_attrs.h"

namespace thalweg {

struct ConvNames {
  const char* forward;          // image, filter -> output
  const char* backprop_input;   // image sizes, filter, output gradient -> image gradient
  const char* backprop_filter;  // image, filter sizes, output gradient -> filter gradient
};

template <const ConvNames& Names>
Status ConvGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedConvAttrs(c.node());
  const Output image = c.input(0), filter = c.input(1), grad = c.grad(0);
  c.set_input_grad(0, m.Op(Names.backprop_input, {m.Shape(image), filter, grad}, attrs));
  c.set_input_grad(1, m.Op(Names.backprop_filter, {image, m.Shape(filter), grad}, attrs));
  return m.status();
}

template <const ConvNames& Names>
Status ConvInputGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedConvAttrs(c.node());
  const Output filter = c.input(1), out_grad = c.input(2), grad = c.grad(0);
  c.set_input_grad(1, m.Op(Names.backprop_filter, {grad, m.Shape(filter), out_grad}, attrs));
  c.set_input_grad(2, m.Op(Names.forward, {grad, filter}, attrs));
  return m.status();
}

template <const ConvNames& Names>
Status ConvFilterGradient(GradientContext& c) {
  GradientMath m(c);
  const AttrMap attrs = SharedConvAttrs(c.node());
  const Output image = c.input(0), out_grad = c.input(2), grad = c.grad(0);
  c.set_input_grad(0, m.Op(Names.backprop_input, {m.Shape(image), grad, out_grad}, attrs));
  c.set_input_grad(2, m.Op(Names.forward, {image, grad}, attrs));
  return m.status();
}

}  // namespace thalweg
