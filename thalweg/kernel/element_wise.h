// SPDX-License-Identifier: Apache-2.0
// Kernels that are one loop of compute/ew, and the lists of types they are registered for.
//
//   AddUnary<compute::UnaryOp::kTanh>(registry, "Tanh", kFloatsAndComplex);
//   AddBinary<compute::BinaryOp::kAdd>(registry, "AddV2", kNumbers);      // broadcasts
//
// Ownership: the output takes an input's buffer where it may; the registry keeps names and
// functions.
// Threads: kernels from any; registration before the registry is shared.
// Errors: those of compute/ew ("Incompatible shapes", "Integer division by zero"). A type of the
// list that compute/ lacks is not registered.
#pragma once

#include <initializer_list>
#include <string_view>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// The types for which TensorFlow registers the kernels of an operation.
using DTypeList = std::initializer_list<DType>;
inline constexpr DTypeList kFloats = {DType::kFloat, DType::kDouble, DType::kHalf,
                                      DType::kBfloat16};
inline constexpr DTypeList kFloatsAndComplex = {DType::kFloat,     DType::kDouble,
                                                DType::kHalf,      DType::kBfloat16,
                                                DType::kComplex64, DType::kComplex128};
inline constexpr DTypeList kSignedNumbers = {
    DType::kFloat, DType::kDouble, DType::kHalf,  DType::kBfloat16,  DType::kInt8,
    DType::kInt16, DType::kInt32,  DType::kInt64, DType::kComplex64, DType::kComplex128};
inline constexpr DTypeList kSignedReals = {DType::kFloat,    DType::kDouble, DType::kHalf,
                                           DType::kBfloat16, DType::kInt8,   DType::kInt16,
                                           DType::kInt32,    DType::kInt64};
inline constexpr DTypeList kReals = {
    DType::kFloat, DType::kDouble, DType::kHalf,  DType::kBfloat16, DType::kInt8,   DType::kInt16,
    DType::kInt32, DType::kInt64,  DType::kUint8, DType::kUint16,   DType::kUint32, DType::kUint64};
inline constexpr DTypeList kNumbers = {
    DType::kFloat,  DType::kDouble, DType::kHalf,      DType::kBfloat16,  DType::kInt8,
    DType::kInt16,  DType::kInt32,  DType::kInt64,     DType::kUint8,     DType::kUint16,
    DType::kUint32, DType::kUint64, DType::kComplex64, DType::kComplex128};
inline constexpr DTypeList kIntegers = {DType::kInt8,   DType::kInt16, DType::kInt32,
                                        DType::kInt64,  DType::kUint8, DType::kUint16,
                                        DType::kUint32, DType::kUint64};

// y = op(x) in x's buffer where it may be taken.
Status RunUnaryKernel(Context& ctx, compute::UnaryOp op);
// z = op(x, y) of inputs 0 and 1, broadcasting.
Status RunBinaryKernel(Context& ctx, compute::BinaryOp op);
// z = op(x, y) of inputs 0 and 1, whose shapes must be equal (gradients).
Status RunSameShapeKernel(Context& ctx, compute::BinaryOp op);

// Kernels that are one operation of compute/ew.
template <compute::UnaryOp Op>
Status UnaryFunction(Context& ctx) {
  return RunUnaryKernel(ctx, Op);
}
template <compute::BinaryOp Op>
Status BinaryFunction(Context& ctx) {
  return RunBinaryKernel(ctx, Op);
}
template <compute::BinaryOp Op>
Status SameShapeFunction(Context& ctx) {
  return RunSameShapeKernel(ctx, Op);
}

// Adds the kernel for every type of the list that compute/ has.
template <compute::UnaryOp Op>
void AddUnary(KernelRegistry& registry, std::string_view name, DTypeList types) {
  for (DType dtype : types) {
    if (!compute::HasUnary(Op, dtype)) continue;
    registry.AddFunction<UnaryFunction<Op>>(name, kCpu, {{"T", dtype}});
  }
}
template <compute::BinaryOp Op>
void AddBinary(KernelRegistry& registry, std::string_view name, DTypeList types) {
  for (DType dtype : types) {
    if (!compute::HasBinary(Op, dtype)) continue;
    registry.AddFunction<BinaryFunction<Op>>(name, kCpu, {{"T", dtype}});
  }
}
template <compute::BinaryOp Op>
void AddSameShape(KernelRegistry& registry, std::string_view name, DTypeList types) {
  for (DType dtype : types) {
    if (!compute::HasBinary(Op, dtype)) continue;
    registry.AddFunction<SameShapeFunction<Op>>(name, kCpu, {{"T", dtype}});
  }
}

}  // namespace thalweg
