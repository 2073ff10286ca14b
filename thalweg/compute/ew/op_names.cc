// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/ew.h"

namespace thalweg::compute {

const char* UnaryOpName(UnaryOp op) {
  static constexpr const char* kNames[] = {
      "Abs",   "Acos",   "Acosh",      "Asin",    "Asinh",      "Atan",  "Atanh",    "Ceil",
      "Conj",  "Cos",    "Cosh",       "Digamma", "Elu",        "Erf",   "Erfc",     "Exp",
      "Expm1", "Floor",  "Identity",   "Invert",  "IsFinite",   "IsInf", "IsNan",    "Lgamma",
      "Log",   "Log1p",  "LogicalNot", "Neg",     "Reciprocal", "Relu",  "Relu6",    "Round",
      "Rsqrt", "Selu",   "Sigmoid",    "Sign",    "Sin",        "Sinh",  "Softplus", "Softsign",
      "Sqrt",  "Square", "Tan",        "Tanh"};
  static_assert(sizeof kNames / sizeof *kNames == kUnaryOps);
  return kNames[static_cast<int>(op)];
}

const char* BinaryOpName(BinaryOp op) {
  static constexpr const char* kNames[] = {"Add",          "Atan2",          "BitwiseAnd",
                                           "BitwiseOr",    "BitwiseXor",     "Div",
                                           "DivNoNan",     "EluGrad",        "Equal",
                                           "FloorDiv",     "FloorMod",       "Greater",
                                           "GreaterEqual", "LeakyRelu",      "LeftShift",
                                           "Less",         "LessEqual",      "LogicalAnd",
                                           "LogicalOr",    "Maximum",        "Minimum",
                                           "Mul",          "MulNoNan",       "NotEqual",
                                           "Pow",          "ReciprocalGrad", "Relu6Grad",
                                           "ReluGrad",     "RightShift",     "RsqrtGrad",
                                           "SeluGrad",     "SigmoidGrad",    "SoftplusGrad",
                                           "SoftsignGrad", "SqrtGrad",       "SquaredDifference",
                                           "Sub",          "TanhGrad",       "TruncateMod",
                                           "Xdivy",        "Xlogy"};
  static_assert(sizeof kNames / sizeof *kNames == kBinaryOps);
  return kNames[static_cast<int>(op)];
}

}  // namespace thalweg::compute
