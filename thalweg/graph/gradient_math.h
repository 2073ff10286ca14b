// SPDX-License-Identifier: Apache-2.0
// GradientMath: the vocabulary of gradient functions: arithmetic on Outputs, one call a node.
//
//   Status SquareGradient(GradientContext& c) {
//     GradientMath m(c);
//     c.set_input_grad(0, m.Mul(c.grad(0), m.Conj(m.Scale(c.input(0), 2))));
//     return m.status();
//   }
//
// Or shorter, for y = f(x): registry.Op("Square").Gradient(ChainRule<[](GradientMath& m, Output x,
// Output) { return m.Scale(x, 2); }>).
// Ownership: the context outlives it; nodes belong to the graph.
// Threads: one at a time, as GradientContext.
// Errors: the first one sticks in status(); later calls give null Outputs.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/graph/gradient_context.h"

namespace thalweg {

class GradientMath {
 public:
  explicit GradientMath(GradientContext& c) : c_(c), b_(c.b()) {}

  Output Op(std::string_view op, std::vector<Output> inputs, AttrMap attrs = {}) {
    return b_.Op(op, std::move(inputs), std::move(attrs));
  }
  Output Add(Output a, Output b) { return Op("AddV2", {a, b}); }
  Output Sub(Output a, Output b) { return Op("Sub", {a, b}); }
  Output Mul(Output a, Output b) { return Op("Mul", {a, b}); }
  Output Div(Output a, Output b) { return Op("RealDiv", {a, b}); }
  Output Neg(Output a) { return Op("Neg", {a}); }
  Output Square(Output a) { return Op("Square", {a}); }
  Output Reciprocal(Output a) { return Op("Reciprocal", {a}); }
  // `value` as a scalar of the type of `like`.
  Output Number(Output like, double value) {
    return b_.ok() ? b_.ScalarConst(like.dtype(), value) : Output();
  }
  Output Scale(Output a, double factor) { return Mul(a, Number(a, factor)); }
  // The conjugate of a complex number; a real one as it is.
  Output Conj(Output a) { return b_.ok() && IsComplex(a.dtype()) ? Op("Conj", {a}) : a; }
  Output Shape(Output a, DType type = DType::kInt32) {
    return Op("Shape", {a}, {{"out_type", type}});
  }
  Output Where(Output condition, Output then, Output otherwise) {
    return Op("SelectV2", {condition, then, otherwise});
  }
  Output Ints(const std::vector<int32_t>& values) { return b_.Const(values); }

  // For y = f(x0, x1) with broadcasting: the gradients of inputs `i0` and `i1`, each first summed
  // over the dimensions along which its input was repeated.
  // What the static shapes tell needs no node; the rest is found out in the step.
  void SetBroadcast(Output grad0, Output grad1, int i0 = 0, int i1 = 1);
  const Status& status() const { return b_.status(); }

 private:
  Output SumOver(Output grad, Output x, const std::vector<int32_t>& axes);

  GradientContext& c_;
  GraphBuilder& b_;
};

// The gradient of y = f(x): grad times the conjugate of F(m, x, y), which is the derivative.
template <auto F>
Status ChainRule(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Mul(c.grad(0), m.Conj(F(m, c.input(0), c.output(0)))));
  return m.status();
}

}  // namespace thalweg
