// SPDX-License-Identifier: Apache-2.0
// StorageType: how elements of a DType become elements of the type that loops compute in, and back.
// Private to compute/.
// Ownership: none; tiles are the caller's.
// Threads: any; no state.
// Errors: none; `ok` is false, or the function null, for a type that loops do not have.
#pragma once

#include "thalweg/compute/ew/kernels.h"
#include "thalweg/compute/isa/isa.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

inline constexpr int64_t kEwTile = 256;     // elements; a few tiles stay in the first-level cache
inline constexpr int kMaxElementSize = 16;  // complex128

struct StorageType {
  bool ok = false;
  EwType compute = kEwFloat;
  int size = 0;       // of a stored element
  int wide_size = 0;  // of a computed one
  // Null when both are the same.
  void (*widen)(const HalfKernels& half, void* out, const void* in, int64_t n) = nullptr;
  void (*narrow)(const HalfKernels& half, void* out, const void* in, int64_t n) = nullptr;
};

StorageType StorageTypeOf(DType dtype);

// n elements from `from`, or (step 0) one element n times.
void CopyElements(int size, const void* from, int64_t step, int64_t n, void* out);

// Casts between the types that loops compute in; out may be in where the sizes are equal.
using CastFn = void (*)(const void* in, void* out, int64_t n);
CastFn CastOfTiles(EwType from, EwType to);

// out[i] = c ? a : b of elements of 1, 2, 4, 8 or 16 bytes; steps are 0 or 1.
void SelectTile(int64_t element_size, int64_t n, const void* c, int64_t c_step, const void* a,
                int64_t a_step, const void* b, int64_t b_step, void* out);

}  // namespace thalweg::compute
