// SPDX-License-Identifier: Apache-2.0
// StorageType: how elements of a DType become elements of the type that loops compute in, and back.
// Private to compute/.
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

}  // namespace thalweg::compute
