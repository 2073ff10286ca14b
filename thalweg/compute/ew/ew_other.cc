// SPDX-License-Identifier: Apache-2.0
// The tables of bool, complex64 and complex128: plain loops, one copy for every instruction set
// level.
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>

#include "thalweg/compute/ew/loops.inc"

namespace thalweg::compute {
namespace {

THALWEG_UNARY(OpLogicalNot, !x)
THALWEG_BINARY(OpLogicalAnd, static_cast<bool>(x& y))
THALWEG_BINARY(OpLogicalOr, static_cast<bool>(x | y))

constexpr EwKernels MakeBoolTable() {
  Table<bool> t{};
  t.Unary<Identity>(UnaryOp::kIdentity);
  t.Unary<OpLogicalNot>(UnaryOp::kLogicalNot);
  t.Binary<OpLogicalAnd>(BinaryOp::kLogicalAnd);
  t.Binary<OpLogicalOr>(BinaryOp::kLogicalOr);
  t.Binary<Equal>(BinaryOp::kEqual);
  t.Binary<NotEqual>(BinaryOp::kNotEqual);
  return t.kernels;
}

// Written out: operator* repairs NaN by a slow call.
template <class T>
inline T Times(T x, T y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <class T>
using Part = typename T::value_type;

// A part that is too small for the arithmetic, which takes it for zero, as a number of the smallest
// one, 2^kLeastPower; 0 for all that are larger.
template <class R>
struct Tiny;
template <>
struct Tiny<float> {
  using Bits = int32_t;
  static constexpr int kMantissa = 23, kLeastPower = -149;
};
template <>
struct Tiny<double> {
  using Bits = int64_t;
  static constexpr int kMantissa = 52, kLeastPower = -1074;
};
template <class R>
inline R TinyCount(R x) {
  using Bits = typename Tiny<R>::Bits;
  const Bits bits = std::bit_cast<Bits>(x), magnitude = bits & std::numeric_limits<Bits>::max();
  if ((magnitude >> Tiny<R>::kMantissa) != 0) return 0;
  return bits < 0 ? -static_cast<R>(magnitude) : static_cast<R>(magnitude);
}
template <class T>
inline T LogOf(T x) {
  using R = Part<T>;
  const T tiny(TinyCount(x.real()), TinyCount(x.imag()));
  if (x != T(0) || tiny == T(0)) return std::log(x);
  return std::log(tiny) + Tiny<R>::kLeastPower * std::numbers::ln2_v<R>;
}

// Near zero, log(1 + x) and e^x - 1 written out, without the cancellation of 1.
template <class T>
inline T Log1pOf(T x) {
  using R = Part<T>;
  const R re = x.real(), im = x.imag();
  if (!(std::abs(re) < R(0.5) && std::abs(im) < R(0.5))) return std::log(T(1) + x);
  return {std::log1p(re * (R(2) + re) + im * im) / 2, std::atan2(im, R(1) + re)};
}
template <class T>
inline T Expm1Of(T x) {
  using R = Part<T>;
  const R re = x.real(), im = x.imag();
  if (!(std::abs(re) < R(0.5) && std::abs(im) < R(0.5))) return std::exp(x) - T(1);
  const R less = std::expm1(re), half = std::sin(im / 2), power = less + R(1);
  return {less - 2 * power * half * half, power * std::sin(im)};
}
template <class T>
inline T SignOf(T x) {
  return x == T(0) ? T(0) : x / std::abs(x);
}

THALWEG_UNARY(OpAcos, std::acos(x))
THALWEG_UNARY(OpAcosh, std::acosh(x))
THALWEG_UNARY(OpAsin, std::asin(x))
THALWEG_UNARY(OpAsinh, std::asinh(x))
THALWEG_UNARY(OpAtan, std::atan(x))
THALWEG_UNARY(OpAtanh, std::atanh(x))
THALWEG_UNARY(OpConj, std::conj(x))
THALWEG_UNARY(OpCos, std::cos(x))
THALWEG_UNARY(OpCosh, std::cosh(x))
THALWEG_UNARY(OpExp, std::exp(x))
THALWEG_UNARY(OpExpm1, Expm1Of(x))
THALWEG_UNARY(OpLog, LogOf(x))
THALWEG_UNARY(OpLog1p, Log1pOf(x))
THALWEG_UNARY(OpNeg, -x)
THALWEG_UNARY(OpReciprocal, T(1) / x)
THALWEG_UNARY(OpRsqrt, T(1) / std::sqrt(x))
THALWEG_UNARY(OpSigmoid, T(1) / (T(1) + std::exp(-x)))
THALWEG_UNARY(OpSign, SignOf(x))
THALWEG_UNARY(OpSin, std::sin(x))
THALWEG_UNARY(OpSinh, std::sinh(x))
THALWEG_UNARY(OpSqrt, std::sqrt(x))
THALWEG_UNARY(OpSquare, Times(x, x))
THALWEG_UNARY(OpTan, std::tan(x))
THALWEG_UNARY(OpTanh, std::tanh(x))

// As in TensorFlow, the gradients of roots and reciprocals conjugate the output, those of tanh and
// sigmoid take it as it is.
THALWEG_BINARY(OpAdd, x + y)
THALWEG_BINARY(OpDiv, x / y)
THALWEG_BINARY(OpDivNoNan, y == T(0) ? T(0) : x / y)
THALWEG_BINARY(OpMul, Times(x, y))
THALWEG_BINARY(OpMulNoNan, y == T(0) ? T(0) : Times(x, y))
THALWEG_BINARY(OpPow, std::pow(x, y))
THALWEG_BINARY(OpReciprocalGrad, Times(Times(std::conj(x), std::conj(x)), -y))
THALWEG_BINARY(OpRsqrtGrad,
               Times(Times(y, std::conj(x)), Times(std::conj(x), std::conj(x))) * Part<T>(-0.5))
THALWEG_BINARY(OpSigmoidGrad, Times(y, Times(x, T(1) - x)))
THALWEG_BINARY(OpSqrtGrad, y == T(0) ? T(0) : y * Part<T>(0.5) / std::conj(x))
THALWEG_BINARY(OpSquaredDifference, Times(x - y, std::conj(x - y)))
THALWEG_BINARY(OpSub, x - y)
THALWEG_BINARY(OpTanhGrad, Times(y, T(1) - Times(x, x)))
THALWEG_BINARY(OpXdivy, x == T(0) ? T(0) : x / y)
THALWEG_BINARY(OpXlogy, x == T(0) ? T(0) : Times(x, LogOf(y)))

template <class T>
constexpr EwKernels MakeComplexTable() {
  Table<T> t{};
  t.template Unary<OpAcos>(UnaryOp::kAcos);
  t.template Unary<OpAcosh>(UnaryOp::kAcosh);
  t.template Unary<OpAsin>(UnaryOp::kAsin);
  t.template Unary<OpAsinh>(UnaryOp::kAsinh);
  t.template Unary<OpAtan>(UnaryOp::kAtan);
  t.template Unary<OpAtanh>(UnaryOp::kAtanh);
  t.template Unary<OpConj>(UnaryOp::kConj);
  t.template Unary<OpCos>(UnaryOp::kCos);
  t.template Unary<OpCosh>(UnaryOp::kCosh);
  t.template Unary<OpExp>(UnaryOp::kExp);
  t.template Unary<OpExpm1>(UnaryOp::kExpm1);
  t.template Unary<Identity>(UnaryOp::kIdentity);
  t.template Unary<OpLog>(UnaryOp::kLog);
  t.template Unary<OpLog1p>(UnaryOp::kLog1p);
  t.template Unary<OpNeg>(UnaryOp::kNeg);
  t.template Unary<OpReciprocal>(UnaryOp::kReciprocal);
  t.template Unary<OpRsqrt>(UnaryOp::kRsqrt);
  t.template Unary<OpSigmoid>(UnaryOp::kSigmoid);
  t.template Unary<OpSign>(UnaryOp::kSign);
  t.template Unary<OpSin>(UnaryOp::kSin);
  t.template Unary<OpSinh>(UnaryOp::kSinh);
  t.template Unary<OpSqrt>(UnaryOp::kSqrt);
  t.template Unary<OpSquare>(UnaryOp::kSquare);
  t.template Unary<OpTan>(UnaryOp::kTan);
  t.template Unary<OpTanh>(UnaryOp::kTanh);
  t.template Binary<OpAdd>(BinaryOp::kAdd);
  t.template Binary<OpDiv>(BinaryOp::kDiv);
  t.template Binary<OpDivNoNan>(BinaryOp::kDivNoNan);
  t.template BinaryPredicate<Equal>(BinaryOp::kEqual);
  t.template Binary<OpMul>(BinaryOp::kMul);
  t.template Binary<OpMulNoNan>(BinaryOp::kMulNoNan);
  t.template BinaryPredicate<NotEqual>(BinaryOp::kNotEqual);
  t.template Binary<OpPow>(BinaryOp::kPow);
  t.template Binary<OpReciprocalGrad>(BinaryOp::kReciprocalGrad);
  t.template Binary<OpRsqrtGrad>(BinaryOp::kRsqrtGrad);
  t.template Binary<OpSigmoidGrad>(BinaryOp::kSigmoidGrad);
  t.template Binary<OpSqrtGrad>(BinaryOp::kSqrtGrad);
  t.template Binary<OpSquaredDifference>(BinaryOp::kSquaredDifference);
  t.template Binary<OpSub>(BinaryOp::kSub);
  t.template Binary<OpTanhGrad>(BinaryOp::kTanhGrad);
  t.template Binary<OpXdivy>(BinaryOp::kXdivy);
  t.template Binary<OpXlogy>(BinaryOp::kXlogy);
  return t.kernels;
}

}  // namespace

constinit const EwKernels kEwBoolKernels = MakeBoolTable();
constinit const EwKernels kEwComplex64Kernels = MakeComplexTable<std::complex<float>>();
constinit const EwKernels kEwComplex128Kernels = MakeComplexTable<std::complex<double>>();

}  // namespace thalweg::compute
