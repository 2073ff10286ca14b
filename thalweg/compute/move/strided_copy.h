// SPDX-License-Identifier: Apache-2.0
// CopyStrided: to[i] = from[i] for every index i of `dims`, whatever the strides: the one loop
// behind transpose, slice, tile, broadcast, reverse, pad, concat and split.
//
//   // y = transpose of x[m,n]
//   CopyStrided(work, DType::kFloat, {{n, m}}, {x, {1, n}}, {y, {m, 1}});
//
// Strides count elements; those of `from` may be 0 (the element repeats) or negative. No two
// indices may lead to one place of `to`, and the two must not overlap. Dimensions of one
// contiguous run are merged first, so the caller need not care.
// Ownership: operands are the caller's; elements that are objects are copied.
// Threads: any, each with its own Work.
// Errors: Cancelled; InvalidArgument for a type without elements.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dims.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct StridedSource {
  const void* data;
  Dims strides;
  int64_t offset = 0;  // of index 0, in elements
};

struct StridedTarget {
  void* data;
  Dims strides;
  int64_t offset = 0;
};

Status CopyStrided(Work& work, DType dtype, std::span<const int64_t> dims,
                   const StridedSource& from, const StridedTarget& to);

// Strides of a contiguous row-major array of `dims`.
Dims ContiguousStrides(std::span<const int64_t> dims);

// n elements one after the other.
Status CopyElements(Work& work, DType dtype, const void* from, void* to, int64_t n);
// n times the element at `value`.
Status FillElements(Work& work, DType dtype, const void* value, void* to, int64_t n);
// n times zero; empty strings, unset handles.
Status FillZeros(Work& work, DType dtype, void* to, int64_t n);

}  // namespace thalweg::compute
