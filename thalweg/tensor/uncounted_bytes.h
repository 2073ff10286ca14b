// SPDX-License-Identifier: Apache-2.0
// Bytes of tensors that no allocator counts: small blocks, memory of the host or from outside.
//
//   RETURN_IF_ERROR(charge.Set(allocator, UncountedBytes(tensor)));
//
// Ownership: none.
// Threads: any.
#pragma once

#include "thalweg/tensor/tensor.h"

namespace thalweg {

// What this handle alone keeps in memory: nothing of what others hold, too, nor what strings hold
// (text_heap.h).
size_t UncountedBytes(const Tensor& tensor);

}  // namespace thalweg
