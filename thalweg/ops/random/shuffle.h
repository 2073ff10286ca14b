// SPDX-License-Identifier: Apache-2.0
// The rows of a tensor in random order (Fisher and Yates), with TensorFlow's bits.
// Ownership: output 0 is the context's.
// Threads: those of the kernel's call.
// Errors: InvalidArgument for more than 2^32 - 1 rows; those of compute/move.
#pragma once

#include <limits>
#include <numeric>
#include <utility>

#include "thalweg/compute/blocks_in_order.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// Output 0; reserve(blocks) gives the stream, once.
template <class Reserve>
Status ShuffleRows(Context& ctx, const Tensor& value, const Reserve& reserve) {
  const Shape shape = value.shape();
  if (value.num_elements() <= 1 || shape.dim(0) <= 1) {
    ctx.set_output(0, value);
    return OkStatus();
  }
  const int64_t rows = shape.dim(0);
  if (rows > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("at most 2^32 - 1 rows can be shuffled, got ", rows);
  }
  constexpr int64_t kRowsPerLook = 1 << 16;  // at the cancel flag
  ASSIGN_OR_RETURN(Tensor order, ctx.AllocateTemporary(DType::kInt64, Shape{rows}));
  int64_t* from = order.mutable_data<int64_t>();
  RETURN_IF_ERROR(compute::ForBlocks(
      ctx.work(), rows, kRowsPerLook,
      [&](int64_t begin, int64_t end) { std::iota(from + begin, from + end, begin); }));
  const auto blocks = static_cast<uint64_t>((rows - 1 + 3) / 4);  // one number a swap
  compute::PhiloxNumbers numbers(reserve(blocks));
  RETURN_IF_ERROR(compute::ForBlocksInOrder(
      ctx.work(), rows - 1, kRowsPerLook, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::swap(from[i], from[i + numbers.Next() % static_cast<uint32_t>(rows - i)]);
        }
      }));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, value.dtype(), shape));
  return compute::GatherRows(ctx.work(), value.dtype(),
                             {.rows = rows, .inner = value.num_elements() / rows, .count = rows},
                             value.raw_data(), from, out->mutable_raw_data());
}

}  // namespace thalweg
