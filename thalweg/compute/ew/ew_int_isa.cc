// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level. Integers wrap: sums and products are made unsigned.
#include "thalweg/compute/ew/loops.inc"
#include "thalweg/compute/isa/vector.inc"

namespace thalweg::compute {
namespace {

template <class T>
struct UnsignedOf;
template <>
struct UnsignedOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct UnsignedOf<int64_t> {
  using Type = uint64_t;
};
template <>
struct UnsignedOf<uint32_t> {
  using Type = uint32_t;
};
template <>
struct UnsignedOf<uint64_t> {
  using Type = uint64_t;
};
template <class T>
using U = typename UnsignedOf<T>::Type;

template <class T>
constexpr bool kSigned = T(-1) < T(0);

#define THALWEG_WRAP(OP) static_cast<T>(static_cast<U<T>>(x) OP static_cast<U<T>>(y))

template <class T>
inline T Negated(T x) {
  return static_cast<T>(U<T>(0) - static_cast<U<T>>(x));
}

THALWEG_UNARY(OpAbs, x < 0 ? Negated(x) : x)
THALWEG_UNARY(OpInvert, static_cast<T>(~x))
THALWEG_UNARY(OpNeg, Negated(x))
THALWEG_UNARY(OpRelu, x < 0 ? T(0) : x)
THALWEG_UNARY(OpRelu6, x<0 ? T(0) : x> 6 ? T(6) : x)
THALWEG_UNARY(OpSign, x > 0 ? T(1) : x < 0 ? T(-1) : T(0))
THALWEG_UNARY(OpSquare, static_cast<T>(static_cast<U<T>>(x) * static_cast<U<T>>(x)))

THALWEG_BINARY(OpAdd, THALWEG_WRAP(+))
THALWEG_BINARY(OpAnd, static_cast<T>(x& y))
THALWEG_BINARY(OpLeakyRelu, x > 0 ? x : THALWEG_WRAP(*))
THALWEG_BINARY(OpMaximum, x > y ? x : y)
THALWEG_BINARY(OpMinimum, x < y ? x : y)
THALWEG_BINARY(OpMul, THALWEG_WRAP(*))
THALWEG_BINARY(OpOr, static_cast<T>(x | y))
THALWEG_BINARY(OpRelu6Grad, (y > 0) & (y < 6) ? x : T(0))
THALWEG_BINARY(OpReluGrad, y > 0 ? x : T(0))
THALWEG_BINARY(OpSub, THALWEG_WRAP(-))
THALWEG_BINARY(OpXor, static_cast<T>(x ^ y))

struct OpSquaredDifference {
  template <class T>
  static inline T Run(T x, T y, uint32_t&) {
    const U<T> d = static_cast<U<T>>(x) - static_cast<U<T>>(y);
    return static_cast<T>(d * d);
  }
};

// Quotient and remainder as C has them, without traps: x / 0 is 0 with a flag, MIN / -1 wraps.
template <class T>
inline T Quotient(T x, T y, uint32_t& flags) {
  if (y == 0) {
    flags |= kDivisionByZero;
    return 0;
  }
  if (kSigned<T> && y == static_cast<T>(-1)) return Negated(x);
  return x / y;
}
template <class T>
inline T Remainder(T x, T y, uint32_t& flags) {
  return static_cast<T>(static_cast<U<T>>(x) -
                        static_cast<U<T>>(Quotient(x, y, flags)) * static_cast<U<T>>(y));
}

THALWEG_BINARY(OpDiv, Quotient(x, y, flags))

struct OpTruncateMod {
  template <class T>
  static inline T Run(T x, T y, uint32_t& flags) {
    return y == 0 ? Quotient(x, y, flags) : Remainder(x, y, flags);
  }
};
struct OpFloorDiv {
  template <class T>
  static inline T Run(T x, T y, uint32_t& flags) {
    const T q = Quotient(x, y, flags);
    const T r = y == 0 ? T(0) : Remainder(x, y, flags);
    return r != 0 && (r < 0) != (y < 0) ? static_cast<T>(q - 1) : q;
  }
};
struct OpFloorMod {
  template <class T>
  static inline T Run(T x, T y, uint32_t& flags) {
    const T r = OpTruncateMod::Run(x, y, flags);
    return r != 0 && (r < 0) != (y < 0) ? static_cast<T>(r + y) : r;
  }
};

// Shifts by less than nothing shift by nothing, by more than all bits by all but one.
template <class T>
inline T ShiftBy(T y) {
  const T most = static_cast<T>(sizeof(T) * 8 - 1);
  return y < 0 ? T(0) : y > most ? most : y;
}
THALWEG_BINARY(OpLeftShift, static_cast<T>(static_cast<U<T>>(x) << ShiftBy(y)))
THALWEG_BINARY(OpRightShift, static_cast<T>(x >> ShiftBy(y)))

struct OpPow {
  template <class T>
  static inline T Run(T x, T y, uint32_t& flags) {
    if (y < 0) {
      flags |= kNegativeExponent;
      return 0;
    }
    U<T> base = static_cast<U<T>>(x), result = 1;
    for (U<T> e = static_cast<U<T>>(y); e != 0; e >>= 1) {
      if (e & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

template <class T>
constexpr EwKernels MakeIntTable() {
  Table<T> t{};
  t.template Unary<OpAbs>(UnaryOp::kAbs);
  t.template Unary<Identity>(UnaryOp::kIdentity);
  t.template Unary<OpInvert>(UnaryOp::kInvert);
  t.template Unary<OpNeg>(UnaryOp::kNeg);
  t.template Unary<OpRelu>(UnaryOp::kRelu);
  t.template Unary<OpRelu6>(UnaryOp::kRelu6);
  t.template Unary<Identity>(UnaryOp::kRound);
  t.template Unary<OpSign>(UnaryOp::kSign);
  t.template Unary<OpSquare>(UnaryOp::kSquare);
  t.template Binary<OpAdd>(BinaryOp::kAdd);
  t.template Binary<OpAnd>(BinaryOp::kBitwiseAnd);
  t.template Binary<OpOr>(BinaryOp::kBitwiseOr);
  t.template Binary<OpXor>(BinaryOp::kBitwiseXor);
  t.template Binary<OpDiv>(BinaryOp::kDiv);
  t.template BinaryPredicate<Equal>(BinaryOp::kEqual);
  t.template Binary<OpFloorDiv>(BinaryOp::kFloorDiv);
  t.template Binary<OpFloorMod>(BinaryOp::kFloorMod);
  t.template BinaryPredicate<Greater>(BinaryOp::kGreater);
  t.template BinaryPredicate<GreaterEqual>(BinaryOp::kGreaterEqual);
  t.template Binary<OpLeakyRelu>(BinaryOp::kLeakyRelu);
  t.template Binary<OpLeftShift>(BinaryOp::kLeftShift);
  t.template BinaryPredicate<Less>(BinaryOp::kLess);
  t.template BinaryPredicate<LessEqual>(BinaryOp::kLessEqual);
  t.template Binary<OpMaximum>(BinaryOp::kMaximum);
  t.template Binary<OpMinimum>(BinaryOp::kMinimum);
  t.template Binary<OpMul>(BinaryOp::kMul);
  t.template BinaryPredicate<NotEqual>(BinaryOp::kNotEqual);
  t.template Binary<OpPow>(BinaryOp::kPow);
  t.template Binary<OpRelu6Grad>(BinaryOp::kRelu6Grad);
  t.template Binary<OpReluGrad>(BinaryOp::kReluGrad);
  t.template Binary<OpRightShift>(BinaryOp::kRightShift);
  t.template Binary<OpSquaredDifference>(BinaryOp::kSquaredDifference);
  t.template Binary<OpSub>(BinaryOp::kSub);
  t.template Binary<OpTruncateMod>(BinaryOp::kTruncateMod);
  return t.kernels;
}

}  // namespace

namespace THALWEG_LEVEL {
constinit const EwKernels kEwInt32Kernels = MakeIntTable<int32_t>();
constinit const EwKernels kEwInt64Kernels = MakeIntTable<int64_t>();
constinit const EwKernels kEwUint32Kernels = MakeIntTable<uint32_t>();
constinit const EwKernels kEwUint64Kernels = MakeIntTable<uint64_t>();
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
