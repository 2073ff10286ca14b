// SPDX-License-Identifier: Apache-2.0
// Element-wise operations over whole tensors: look the loop up, cut the work into shards,
// broadcast.
//
//   if (!HasBinary(BinaryOp::kAdd, dtype)) ...  // the coverage table; RunBinary says so too
//   RETURN_IF_ERROR(RunUnary(work, UnaryOp::kTanh, dtype, n, x, y));
//   ASSIGN_OR_RETURN(Broadcast broadcast, Broadcast::Make({a_dims, b_dims}));
//   RETURN_IF_ERROR(RunBinary(work, BinaryOp::kAdd, dtype, broadcast, a, b, out));
//
// Types: those of the TensorFlow operation; half and bfloat16 are computed in float, 8 and 16 bit
// integers in int32 and wrap when stored. In place: out may be an operand that is dense
// (Broadcast::IsDense) when the result's elements have its size.
// Ownership: operands are the caller's; loops that DirectUnary and DirectBinary give are static.
// Threads: any, each with its own Work.
// Errors: Unimplemented for a missing (operation, type); InvalidArgument "Integer division by zero"
// and "Integers to negative integer powers are not allowed", after the whole output is written.
#pragma once

#include "thalweg/compute/ew/broadcast.h"
#include "thalweg/compute/ew/kernels.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

const char* UnaryOpName(UnaryOp op);
const char* BinaryOpName(BinaryOp op);

bool HasUnary(UnaryOp op, DType dtype);
bool HasBinary(BinaryOp op, DType dtype);
// bool for predicates and comparisons, else the operands' type.
DType UnaryResult(UnaryOp op, DType dtype);
DType BinaryResult(BinaryOp op, DType dtype);

// The loop itself, where elements are computed as they are stored: for small tensors, in the
// caller's thread, without anything around it. Null otherwise. Flags of a binary loop: kernels.h.
UnaryFn DirectUnary(const IsaTable& isa, UnaryOp op, DType dtype);
BinaryFn DirectBinary(const IsaTable& isa, BinaryOp op, DType dtype);
Status StatusOfFlags(uint32_t flags);
inline constexpr int64_t kDirectElements = 32768;  // what one shard would take

Status RunUnary(Work& work, UnaryOp op, DType dtype, int64_t n, const void* a, void* out);
Status RunBinary(Work& work, BinaryOp op, DType dtype, const Broadcast& broadcast, const void* a,
                 const void* b, void* out);

// Casts between any two of half, bfloat16, float, double, integers, bool, complex. Floats become
// integers by truncation; what does not fit becomes the least int32 (int64 for 64 bit targets),
// then wraps to narrower targets. Complex numbers lose their imaginary part. bool is "not zero". in
// and out must not overlap unless equal in place and element size.
Status RunCast(Work& work, DType from, DType to, int64_t n, const void* in, void* out);

// out = condition ? a : b for plain elements of 1, 2, 4, 8 or 16 bytes; operands (condition, a, b).
Status RunSelect(Work& work, size_t element_size, const Broadcast& broadcast, const bool* condition,
                 const void* a, const void* b, void* out);

}  // namespace thalweg::compute
