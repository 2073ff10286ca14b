// SPDX-License-Identifier: Apache-2.0
// Scan: running sums and products along the middle of [outer, size, inner].
//
//   RETURN_IF_ERROR(Scan(work, ScanOp::kSum, dtype, {.outer = 2, .size = 5, .inner = 3}, x, y));
//
// Element i is the fold of elements 0..i, or (exclusive) 0..i-1; with reverse, of those from the
// other end. Types: all numbers; half and bfloat16 are accumulated in float. May run in place
// unless exclusive. Bits do not depend on threads.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

enum class ScanOp : uint8_t { kSum, kProd };

struct ScanShape {
  int64_t outer = 1, size = 0, inner = 1;
  bool exclusive = false, reverse = false;
};

Status Scan(Work& work, ScanOp op, DType dtype, const ScanShape& shape, const void* in, void* out);

}  // namespace thalweg::compute
