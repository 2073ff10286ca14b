// SPDX-License-Identifier: Apache-2.0
// FindCharged: an allocator as one whose limit also counts bytes outside of its blocks; null where
// it counts blocks only. The host's own is told by its type alone: every tensor of strings asks.
//
//   ChargedAllocator* const charged = FindCharged(allocator);
//
// Ownership: the pointer is the allocator itself, and lives as long.
// Threads: any.
// Errors: none.
#pragma once

#include "thalweg/tensor/heap_charge.h"

namespace thalweg {

ChargedAllocator* FindCharged(Allocator& allocator);

}  // namespace thalweg
