// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

struct Row {
  OpClass op_class;
  double f64, f32, f16, bf16, c128, c64;
};

// clang-format off
constexpr Row kTable[] = {
    // class               double  float  half   bfloat16 complex128 complex64
    {OpClass::kDefault,    1e-11,  1e-5,  2e-3,  1.6e-2,  1e-11,     1e-5},
    {OpClass::kArithmetic, 1e-11,  1e-5,  1e-2,  6e-2,    1e-11,     1e-4},
    {OpClass::kFunction,   1e-11,  1e-5,  4e-3,  2e-2,    1e-11,     1e-5},
    {OpClass::kProduct,    1e-11,  1e-5,  4e-3,  1.6e-2,  1e-11,     1e-5},
    {OpClass::kSum,        1e-11,  1e-5,  2e-2,  2e-1,    1e-11,     1e-4},
};
// clang-format on

}  // namespace

double ToleranceOf(OpClass op_class, DType dtype) {
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
