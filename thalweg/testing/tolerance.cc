// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// TensorFlow's error |a - b| / (1 + |b|), the largest of the operations named.
struct Measured {
  OpClass op_class;
  double f32, f16, bf16;
};
// clang-format off
constexpr Measured kMeasured[] = {
    // class                f32      half     bfloat16   from
    {OpClass::kActivation,  8.7e-8,  4.6e-4,  1.42e-2},  // Selu, Selu, Softplus
    {OpClass::kBatchNorm,   1e-6,    2.4e-4,  1.8e-3},   // FusedBatchNormV3, training; float: not measured
    {OpClass::kBiasGrad,    7.0e-7,  1.4e-3,  1.18e-2},  // BiasAddGrad, Sum, BiasAddGrad
    {OpClass::kCell,        5.9e-8,  1.73e-3, 1.4e-2},   // LSTMBlockCell; bfloat16: 8 x half, not measured
    {OpClass::kConvolution, 1.34e-6, 4.2e-4,  3.33e-3},  // Conv2D by filter, Conv3D, by input
    {OpClass::kMorphology,  3.0e-7,  2.84e-3, 1.81e-1},  // Dilation2DBackpropFilter
    {OpClass::kPool,        1.56e-7, 7.9e-4,  7.4e-3},   // MaxPoolGrad
    {OpClass::kSoftmax,     9.3e-8,  8.3e-4,  4.47e-3},  // LogSoftmax
};

// Older rows, as tolerances.
struct Row {
  OpClass op_class;
  double f64, f32, f16, bf16, c128, c64;
};
constexpr Row kTable[] = {
    // class               double  float  half   bfloat16 complex128 complex64
    {OpClass::kDefault,    1e-11,  1e-5,  2e-3,  1.6e-2,  1e-11,     1e-5},
    {OpClass::kArithmetic, 1e-11,  1e-5,  1e-2,  6e-2,    1e-11,     1e-4},
    {OpClass::kFunction,   1e-11,  1e-5,  4e-3,  2e-2,    1e-11,     1e-5},
    {OpClass::kLinear,     1e-11,  1e-4,  4e-3,  3.2e-2,  1e-11,     1e-4},
    {OpClass::kOptimizer,  1e-11,  2e-5,  1e-2,  8e-2,    1e-11,     1e-5},
    {OpClass::kProduct,    1e-11,  1e-5,  4e-3,  1.6e-2,  1e-11,     1e-5},
    {OpClass::kSum,        1e-11,  1e-5,  2e-2,  2e-1,    1e-11,     1e-4},
};
// clang-format on

// Two units in the last place, of numbers above one relative to them.
constexpr double kUlpsF32 = 2.4e-7, kUlpsF16 = 1.95e-3, kUlpsBf16 = 1.56e-2;

double OfMeasured(const Measured& row, DType dtype) {
  switch (dtype) {
    case DType::kDouble:
    case DType::kComplex128:
      return 1e-11;
    case DType::kFloat:
    case DType::kComplex64:
      return 2 * row.f32 + kUlpsF32;
    case DType::kHalf:
      return 2 * row.f16 + kUlpsF16;
    case DType::kBfloat16:
      return 2 * row.bf16 + kUlpsBf16;
    default:
      return 0;
  }
}

}  // namespace

double ToleranceOf(OpClass op_class, DType dtype) {
  for (const Measured& row : kMeasured) {
    if (row.op_class == op_class) return OfMeasured(row, dtype);
  }
  for (const Row& row : kTable) {
    if (row.op_class != op_class) continue;
    switch (dtype) {
      case DType::kDouble:
        return row.f64;
      case DType::kFloat:
        return row.f32;
      case DType::kHalf:
        return row.f16;
      case DType::kBfloat16:
        return row.bf16;
      case DType::kComplex128:
        return row.c128;
      case DType::kComplex64:
        return row.c64;
      default:
        return 0;
    }
  }
  return 0;
}

}  // namespace thalweg
