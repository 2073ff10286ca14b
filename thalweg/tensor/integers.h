// SPDX-License-Identifier: Apache-2.0
// Small integer arguments of operations: shapes, axes, sizes, indices, in any integer type. `what`
// names the argument in messages.
//
//   ASSIGN_OR_RETURN(const Dims perm, IntVector(ctx.input(1), "perm"));
//   ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "dims"));
//   ASSIGN_OR_RETURN(const int axis, NormalizeAxis(value, rank, "axis"));
//
// Ownership: CheckedIndices shares the buffer of int64 indices; all else are values.
// Threads: any; no state.
// Errors: InvalidArgument with what was expected and found; ResourceExhausted for a converted copy.
// Used by shape functions and kernels alike, so that both refuse the same things with the same
// words.
#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/tensor/shape.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Element i of a tensor of any integer type but uint64 (whose values need not fit).
int64_t IntAt(const Tensor& tensor, int64_t i);
// True for the types that IntAt reads.
bool IsIndexType(DType dtype);

// The one element of a scalar.
Result<int64_t> IntScalar(const Tensor& tensor, std::string_view what);
// The elements of a vector of at most kMaxRank.
Result<Dims> IntVector(const Tensor& tensor, std::string_view what);
// A vector read as a shape: no negative dimensions, no overflow.
Result<Shape> ShapeOf(const Tensor& tensor, std::string_view what);
// `axis` counted from the front, for -rank <= axis < rank.
Result<int> NormalizeAxis(int64_t axis, int rank, std::string_view what);

// All elements as int64, each checked against [0, limit): the tensor itself when it is int64, else
// a converted copy.
Result<Tensor> CheckedIndices(Allocator& allocator, const Tensor& indices, int64_t limit,
                              std::string_view what);

// "[1,0]": where element `flat` of a tensor of that shape is.
std::string IndexText(const Shape& shape, int64_t flat);

}  // namespace thalweg
