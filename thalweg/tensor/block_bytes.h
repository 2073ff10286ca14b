// SPDX-License-Identifier: Apache-2.0
// BlockOf: where the bytes of a tensor lie, whoever of several handles and views is asked.
// BlockBytes: what an allocation takes of an allocator's limit.
//
//   const TensorBlock block = BlockOf(tensor);
//   if (block.address == BlockOf(other).address) ...   // they share it
//
// Ownership: none; an address is that of a buffer that lives as long as its handles.
// Threads: any.
// Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct TensorBlock {
  const void* address = nullptr;  // null: a scalar inside of its handle, a reference, nothing
  size_t bytes = 0;               // of the elements, also of those that a view does not show
  // Whose block this is; null for small ones, memory of the host and from outside.
  const Allocator* allocator = nullptr;
};

TensorBlock BlockOf(const Tensor& tensor);

// With the rounding of the host's allocator; of others, `bytes`.
size_t BlockBytes(const Allocator& allocator, size_t bytes);

}  // namespace thalweg
