// SPDX-License-Identifier: Apache-2.0
// Small blocks (tensor headers, and tensors of a few hundred bytes) from a free list per thread: 5
// ns instead of malloc's 20 to 80. Memory only, no configuration: what a thread keeps is bounded
// and goes back when the thread ends.
// Ownership: of a block: who asked for it, until FreeSmallBlock with the same size.
// Threads: any; a block may be freed by another thread than the one that made it.
// Errors: none; null where the system has no memory.
#pragma once

#include <cstddef>

namespace thalweg {

inline constexpr size_t kMaxSmallBlock = 512;

// Aligned to 64. Null when the system has none. bytes <= kMaxSmallBlock.
void* AllocateSmallBlock(size_t bytes);
void FreeSmallBlock(void* block, size_t bytes);

}  // namespace thalweg
