// SPDX-License-Identifier: Apache-2.0
// Rows picked and rows combined by index.
//
//   // out[b, o, i, :] = params[b, o, indices[b, i], :]
//   GatherRows(work, dtype, {.batch = 1, .outer = 1, .rows = 10, .inner = 4, .count = n}, params,
//              indices, out);
//   // target[indices[i], :] += updates[i, :], in the order of i, so that bits do not depend on
//   // threads
//   CombineRows(work, dtype, Combine::kAdd, {.inner = 4, .count = n}, indices, updates, target);
//
// `indices` are int64, already checked against the number of rows (CheckIndices). Element types:
// all for GatherRows and kAssign, numbers for the arithmetic, real numbers for kMin and kMax, bool
// for kAdd (or) and kSub (exclusive or), string for kAdd. Half and bfloat16 are combined in float.
// Ownership: operands are the caller's; elements that are objects are copied.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type, InvalidArgument for an integer division by zero; those of
// work.h.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct GatherShape {
  int64_t batch = 1;
  int64_t outer = 1;
  int64_t rows = 0;   // of params along the gathered dimension
  int64_t inner = 1;  // elements of one row
  int64_t count = 0;  // indices per batch
};
// An index of -1 gives zeros.
Status GatherRows(Work& work, DType dtype, const GatherShape& shape, const void* params,
                  const int64_t* indices, void* out);

enum class Combine : uint8_t { kAssign, kAdd, kSub, kMul, kDiv, kMin, kMax };

struct CombineShape {
  int64_t inner = 1;        // elements of one row
  int64_t count = 0;        // indices
  bool one_update = false;  // `updates` is a single element for all
};
// An index of -1 is passed over. InvalidArgument for an integer division by zero.
Status CombineRows(Work& work, DType dtype, Combine combine, const CombineShape& shape,
                   const int64_t* indices, const void* updates, void* target);
// target[i] = target[i] (op) updates[i] for n elements.
Status CombineElements(Work& work, DType dtype, Combine combine, int64_t n, const void* updates,
                       void* target);

}  // namespace thalweg::compute
