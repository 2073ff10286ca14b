// SPDX-License-Identifier: Apache-2.0
// Gemm: c = op(a) * op(b) for row-major matrices, with an epilogue in the same pass.
//
//   GemmShape shape = GemmShape::Dense(m, n, k);  // a is [m, k], b is [k, n], c is [m, n]
//   RETURN_IF_ERROR(Gemm(work, DType::kFloat, shape, a, b, c));
//   RETURN_IF_ERROR(Gemm(work, DType::kFloat, shape, a, b, c, {.bias = bias, .relu = true}));
//
// Types: float, double (own packed kernels); half, bfloat16 (computed in float); int32, int64
// (wrapping), complex64, complex128 (blocked loops). Any other is Unimplemented. Sizes: m, n, k >=
// 0; k == 0 gives zeros (plus the epilogue). c must not overlap a, b or the epilogue's inputs,
// except that residual may be c itself. Bits do not depend on the number of threads; they are the
// same at kAvx2 and kAvx512, but for bfloat16 by AMX or AVX512_BF16, which takes numbers below
// 2^-126 for zeros (bfloat16_product.h).
// Ownership: operands are the caller's; what PackGemm has written is good for one instruction set
// level.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type, InvalidArgument where a packed form overflows; those of
// work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

enum class Transpose : uint8_t { kNo, kYes, kConjugate };

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  Transpose a = Transpose::kNo, b = Transpose::kNo;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;  // elements from one stored row to the next

  // Without gaps between rows.
  static GemmShape Dense(int64_t m, int64_t n, int64_t k, Transpose a = Transpose::kNo,
                         Transpose b = Transpose::kNo) {
    return {m, n, k, a, b, a == Transpose::kNo ? k : m, b == Transpose::kNo ? n : k, n};
  }
};

// c = relu(op(a) * op(b) + bias + residual), each part optional.
struct GemmEpilogue {
  const void* bias = nullptr;      // [n]
  const void* residual = nullptr;  // laid out like c
  bool relu = false;               // not for complex types
};

Status Gemm(Work& work, DType dtype, const GemmShape& shape, const void* a, const void* b, void* c,
            const GemmEpilogue& epilogue = {});

// b packed once for many products, in a form that depends on the instruction set level:
//
//   ASSIGN_OR_RETURN(int64_t size, PackedSize(work.isa(), dtype, n, k));  // elements of PackedType
//   RETURN_IF_ERROR(PackGemm(work, dtype, shape, b, packed));             // m and a's part unused
//   RETURN_IF_ERROR(PackedGemm(work, dtype, shape, a, packed, c));        // b's part unused
//
// half and bfloat16 are packed as float, or bfloat16 as it is, in as many floats as that takes.
// PackedGemm has Gemm's bits, but where Gemm goes other ways: n == 1, and few rows against a
// transposed b. kInvalid and Unimplemented: the type does not pack.
DType PackedType(DType dtype);
Result<int64_t> PackedSize(const IsaTable& isa, DType dtype, int64_t n, int64_t k);
Status PackGemm(Work& work, DType dtype, const GemmShape& shape, const void* b, void* packed);
Status PackedGemm(Work& work, DType dtype, const GemmShape& shape, const void* a,
                  const void* packed, void* c, const GemmEpilogue& epilogue = {});

// One product per entry of the offsets (in elements): c + i * m * c_stride = a + a_offsets[i] times
// b + b_offsets[i]. Offsets may repeat: that is broadcasting.
Status BatchedGemm(Work& work, DType dtype, const GemmShape& shape, int64_t batch, const void* a,
                   const int64_t* a_offsets, const void* b, const int64_t* b_offsets, void* c);

}  // namespace thalweg::compute
