// SPDX-License-Identifier: Apache-2.0
// Reduce: sums, means, extremes, products, logic over any dimensions; Arg: the place of an extreme.
//
//   ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(x_dims, axes));
//   RETURN_IF_ERROR(Reduce(work, ReduceOp::kMean, dtype, reduction, x, mean));
//
// Types: sum, mean, product, sum of squares: all numbers; maximum, minimum: real numbers; all, any:
// bool. Half and bfloat16 are reduced in float, 8 and 16 bit integers in int32 (wrapping when
// stored). Over nothing: sum 0, product 1, all true, any false, mean NaN (0 for integers), maximum
// the least value (-infinity), minimum the greatest. NaN wins maximum and minimum. An integer mean
// truncates. Bits depend on shapes alone: float sums are pairwise, in fixed blocks, at every level.
// Ownership: operands are the caller's; a source is asked during the call.
// Threads: any, each with its own Work; a source is asked by several shards.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/reduce/reduction.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

enum class ReduceOp : uint8_t { kSum, kMean, kMax, kMin, kProd, kAll, kAny, kSumSquares };

// Elements that are made when they are reduced, piece by piece while they are in cache.
class ReduceSource {
 public:
  virtual ~ReduceSource() = default;
  // Elements [begin, end), in row-major order, in `buffer` or elsewhere; null when they cannot be
  // made. Called from many threads at once, never twice for the same element.
  virtual const void* Make(Work& work, int64_t begin, int64_t end, void* buffer) const = 0;
};

bool HasReduce(ReduceOp op, DType dtype);
Status Reduce(Work& work, ReduceOp op, DType dtype, const Reduction& reduction, const void* in,
              void* out);
// The same, with the same bits, of what `source` makes; float, double and 32 and 64 bit integers.
// What Make has refused is ResourceExhausted.
Status ReduceFrom(Work& work, ReduceOp op, DType dtype, const Reduction& reduction,
                  const ReduceSource& source, void* out);

// The first place of the largest (smallest) element along the middle of [outer, size, inner], as
// int64, int32, int16 or uint16. size must be at least 1. Real numbers and bool.
enum class ArgOp : uint8_t { kMax, kMin };
Status Arg(Work& work, ArgOp op, DType dtype, int64_t outer, int64_t size, int64_t inner,
           const void* in, DType out_type, void* out);

}  // namespace thalweg::compute
