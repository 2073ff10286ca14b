// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic of two inputs that broadcast.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

using M = GradientMath;

// F0 and F1(m, x, y, z): the derivatives of z by x and by y.
template <auto F0, auto F1>
Status Partial(GradientContext& c) {
  GradientMath m(c);
  const Output x = c.input(0), y = c.input(1), z = c.output(0), grad = c.grad(0);
  m.SetBroadcast(m.Mul(grad, m.Conj(F0(m, x, y, z))), m.Mul(grad, m.Conj(F1(m, x, y, z))));
  return m.status();
}

Status AddGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0);
  m.SetBroadcast(grad, grad);
  return m.status();
}

Status SubGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0);
  m.SetBroadcast(grad, m.Neg(grad));
  return m.status();
}

Status DivGradient(GradientContext& c) {
  GradientMath m(c);
  const Output x = m.Conj(c.input(0)), y = m.Conj(c.input(1)), grad = c.grad(0);
  m.SetBroadcast(m.Div(grad, y), m.Mul(grad, m.Div(m.Div(m.Neg(x), y), y)));
  return m.status();
}

Status DivNoNanGradient(GradientContext& c) {
  GradientMath m(c);
  const auto div = [&](Output a, Output b) { return m.Op("DivNoNan", {a, b}); };
  const Output x = m.Conj(c.input(0)), y = m.Conj(c.input(1)), grad = c.grad(0);
  m.SetBroadcast(div(grad, y), m.Mul(grad, div(div(m.Neg(x), y), y)));
  return m.status();
}

Status MulNoNanGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0);
  m.SetBroadcast(m.Op("MulNoNan", {grad, c.input(1)}), m.Op("MulNoNan", {c.input(0), grad}));
  return m.status();
}

Status FloorModGradient(GradientContext& c) {
  GradientMath m(c);
  const Output grad = c.grad(0);
  m.SetBroadcast(grad, m.Mul(grad, m.Neg(m.Op("FloorDiv", {c.input(0), c.input(1)}))));
  return m.status();
}

// The gradient goes to x where the comparison holds, else to y.
Status ChosenGradient(GradientContext& c, const char* compare) {
  GradientMath m(c);
  const Output grad = c.grad(0), zero = m.Number(c.input(0), 0);
  const Output mask = m.Op(compare, {c.input(0), c.input(1)});
  m.SetBroadcast(m.Where(mask, grad, zero), m.Where(mask, zero, grad));
  return m.status();
}
Status MaximumGradient(GradientContext& c) { return ChosenGradient(c, "GreaterEqual"); }
Status MinimumGradient(GradientContext& c) { return ChosenGradient(c, "LessEqual"); }

Status SquaredDifferenceGradient(GradientContext& c) {
  GradientMath m(c);
  const Output slope = m.Scale(m.Conj(m.Sub(c.input(0), c.input(1))), 2);
  const Output grad = m.Mul(c.grad(0), slope);
  m.SetBroadcast(grad, m.Neg(grad));
  return m.status();
}

// log(x) counts as zero where it does not exist.
Status PowGradient(GradientContext& c) {
  GradientMath m(c);
  const Output x = m.Conj(c.input(0)), y = m.Conj(c.input(1)), z = m.Conj(c.output(0));
  const Output grad = c.grad(0), zero = m.Number(x, 0), one = m.Number(x, 1);
  const bool is_complex = m.status().ok() && IsComplex(x.dtype());
  const Output defined = m.Op(is_complex ? "NotEqual" : "Greater", {x, zero});
  const Output log = m.Op("Log", {m.Where(defined, x, one)});
  const Output by_x = m.Mul(y, m.Op("Pow", {x, m.Sub(y, one)}));
  m.SetBroadcast(m.Mul(grad, by_x), m.Mul(grad, m.Mul(z, m.Where(defined, log, zero))));
  return m.status();
}

// 1 where x is not zero.
Output NotZero(M& m, Output x) {
  if (!m.status().ok()) return {};
  return m.Op("Cast", {m.Op("NotEqual", {x, m.Number(x, 0)})}, {{"DstT", x.dtype()}});
}

constexpr auto kXlogyByX = [](M& m, Output x, Output y, Output) {
  return m.Op("Xlogy", {NotZero(m, x), y});
};
constexpr auto kXlogyByY = [](M& m, Output x, Output y, Output) { return m.Op("Xdivy", {x, y}); };
constexpr auto kXdivyByX = [](M& m, Output x, Output y, Output) {
  return m.Op("Xdivy", {NotZero(m, x), y});
};
constexpr auto kXdivyByY = [](M& m, Output x, Output y, Output) {
  return m.Op("Xdivy", {m.Neg(x), m.Square(y)});
};
constexpr auto kMulByX = [](M&, Output, Output y, Output) { return y; };
constexpr auto kMulByY = [](M&, Output x, Output, Output) { return x; };
// The derivative of atan2(y, x), whose first input is y.
constexpr auto kAtan2ByY = [](M& m, Output y, Output x, Output) {
  return m.Div(x, m.Add(m.Square(x), m.Square(y)));
};
constexpr auto kAtan2ByX = [](M& m, Output y, Output x, Output) {
  return m.Neg(m.Div(y, m.Add(m.Square(x), m.Square(y))));
};

}  // namespace
}  // namespace thalweg

THALWEG_OP(binary) {
  const auto add = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(BroadcastBinaryShape).Gradient(gradient).Doc(doc);
  };
  add("Add", AddGradient, "x + y; strings are joined.");
  add("AddV2", AddGradient, "x + y.");
  add("Sub", SubGradient, "x - y.");
  add("Mul", Partial<kMulByX, kMulByY>, "x * y.");
  add("Div", DivGradient, "x / y; integers are truncated.");
  add("RealDiv", DivGradient, "x / y.");
  add("DivNoNan", DivNoNanGradient, "x / y, and 0 where y is 0.");
  add("MulNoNan", MulNoNanGradient, "x * y, and 0 where y is 0 whatever x is.");
  add("FloorMod", FloorModGradient, "x - floor(x / y) * y: the sign is that of y.");
  add("Maximum", MaximumGradient, "The larger of x and y.");
  add("Minimum", MinimumGradient, "The smaller of x and y.");
  add("SquaredDifference", SquaredDifferenceGradient, "(x - y)^2; |x - y|^2 of complex numbers.");
  add("Pow", PowGradient, "x to the power of y.");
  add("Xlogy", Partial<kXlogyByX, kXlogyByY>, "x log(y), and 0 where x is 0.");
  add("Xdivy", Partial<kXdivyByX, kXdivyByY>, "x / y, and 0 where x is 0.");
  add("Atan2", Partial<kAtan2ByY, kAtan2ByX>, "The angle of the point (x, y).");
  for (const char* op : {"FloorDiv", "TruncateDiv"}) {
    registry.Op(op)
        .Shape(BroadcastBinaryShape)
        .NotDifferentiable("the derivative is zero wherever it exists")
        .Doc("x / y rounded down, or towards zero.");
  }
  for (const char* op : {"Mod", "TruncateMod"}) {
    registry.Op(op)
        .Shape(BroadcastBinaryShape)
        .NotDifferentiable("it is meant for integers")
        .Doc("The rest of x / y with the sign of x.");
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"}) {
    registry.Op(op)
        .Shape(BroadcastBinaryShape)
        .NotDifferentiable("integers have no derivatives")
        .Doc("Bits of integers combined or shifted.");
  }
}
