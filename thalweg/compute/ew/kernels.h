// SPDX-License-Identifier: Apache-2.0
// The element-wise loops as tables of functions: (operation, type) -> loop over n elements. A null
// entry is an operation that the type does not have. A fused program calls the same functions tile
// by tile.
//
// Loops may run in place: out may be exactly a or b when the result's elements have the operand's
// size.
// Ownership: tables are static.
// Threads: any; a loop is the caller's thread alone.
// Errors: none; a binary loop ors EwFlags into `flags`, after it has written all.
#pragma once

#include <cstdint>

#include "thalweg/compute/ew/ops.h"

namespace thalweg::compute {

// What a loop has to say beside its values.
enum EwFlag : uint32_t {
  kDivisionByZero = 1,    // an integer was divided by zero; its result is 0
  kNegativeExponent = 2,  // an integer was raised to a negative power; its result is 0
};

using UnaryFn = void (*)(void* out, const void* a, int64_t n);
using BinaryFn = void (*)(void* out, const void* a, const void* b, int64_t n, uint32_t* flags);

// Loops for two vectors, vector and scalar, scalar and vector; a scalar operand points at one
// element.
struct BinaryFns {
  BinaryFn vv = nullptr, vs = nullptr, sv = nullptr;
};

struct EwKernels {
  UnaryFn unary[kUnaryOps] = {};
  BinaryFns binary[kBinaryOps] = {};
};

// The types that loops compute in. Half and bfloat16 are widened to float, 8 and 16 bit integers to
// int32.
enum EwType {
  kEwFloat,
  kEwDouble,
  kEwInt32,
  kEwInt64,
  kEwUint32,
  kEwUint64,
  kEwBool,
  kEwComplex64,
  kEwComplex128
};
inline constexpr int kEwTypes = 9;

// Storage types to and from floats.
struct HalfKernels {
  void (*half_to_float)(float* out, const uint16_t* in, int64_t n);
  void (*float_to_half)(uint16_t* out, const float* in, int64_t n);
  void (*bfloat16_to_float)(float* out, const uint16_t* in, int64_t n);
  void (*float_to_bfloat16)(uint16_t* out, const float* in, int64_t n);
};

extern const EwKernels kEwBoolKernels;
extern const EwKernels kEwComplex64Kernels;
extern const EwKernels kEwComplex128Kernels;

#define THALWEG_EW_LEVEL(LEVEL)            \
  namespace LEVEL {                        \
  extern const EwKernels kEwFloatKernels;  \
  extern const EwKernels kEwDoubleKernels; \
  extern const EwKernels kEwInt32Kernels;  \
  extern const EwKernels kEwInt64Kernels;  \
  extern const EwKernels kEwUint32Kernels; \
  extern const EwKernels kEwUint64Kernels; \
  extern const HalfKernels kHalfKernels;   \
  }
THALWEG_EW_LEVEL(sse4)
THALWEG_EW_LEVEL(avx2)
THALWEG_EW_LEVEL(avx512)
#undef THALWEG_EW_LEVEL

}  // namespace thalweg::compute
