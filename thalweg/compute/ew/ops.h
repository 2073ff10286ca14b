// SPDX-License-Identifier: Apache-2.0
// The element-wise operations that compute/ knows. Meanings are those of the TensorFlow operations
// of the same name.
#pragma once

#include <cstdint>

namespace thalweg::compute {

// clang-format off
enum class UnaryOp : uint8_t {
  kAbs, kAcos, kAcosh, kAsin, kAsinh, kAtan, kAtanh, kCeil, kConj, kCos, kCosh, kDigamma, kElu, kErf, kErfc, kExp,
  kExpm1, kFloor, kIdentity, kInvert, kIsFinite, kIsInf, kIsNan, kLgamma, kLog, kLog1p, kLogicalNot, kNeg,
  kReciprocal, kRelu, kRelu6, kRound, kRsqrt, kSelu, kSigmoid, kSign, kSin, kSinh, kSoftplus, kSoftsign, kSqrt,
  kSquare, kTan, kTanh,
  kCount
};
// clang-format on

// a op b. Gradients take their operands in the order of the TensorFlow operation: tanh, sigmoid,
// sqrt, rsqrt and reciprocal (y, dy), the others (gradient, feature or output). kLeakyRelu is
// (feature, alpha).
// clang-format off
enum class BinaryOp : uint8_t {
  kAdd, kAtan2, kBitwiseAnd, kBitwiseOr, kBitwiseXor, kDiv /* truncates integers */, kDivNoNan, kEluGrad, kEqual,
  kFloorDiv, kFloorMod, kGreater, kGreaterEqual, kLeakyRelu, kLeftShift, kLess, kLessEqual, kLogicalAnd, kLogicalOr,
  kMaximum, kMinimum, kMul, kMulNoNan, kNotEqual, kPow, kReciprocalGrad, kRelu6Grad, kReluGrad, kRightShift,
  kRsqrtGrad, kSeluGrad, kSigmoidGrad, kSoftplusGrad, kSoftsignGrad, kSqrtGrad, kSquaredDifference, kSub, kTanhGrad,
  kTruncateMod, kXdivy, kXlogy,
  kCount
};
// clang-format on

inline constexpr int kUnaryOps = static_cast<int>(UnaryOp::kCount);
inline constexpr int kBinaryOps = static_cast<int>(BinaryOp::kCount);

}  // namespace thalweg::compute
