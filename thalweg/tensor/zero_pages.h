// SPDX-License-Identifier: Apache-2.0
// ReleaseToZeros: a large block of zeros without the memory for them. The whole pages inside
// [block, block + bytes) go back to the system, which gives pages of zeros for those that are
// touched later, small ones, so that a table of which few rows are ever used takes little more than
// these.
//   if (!ReleaseToZeros(out->mutable_raw_data(), out->bytes())) ...   // fill them
// Only for memory of the host allocator or malloc that the caller owns alone: never for a mapped
// file, nor pages that a device has pinned. False, with nothing changed, when the block is too
// small for this to pay, or the system refuses.
// Ownership: the block stays the caller's.
// Threads: any, on distinct blocks.
// Errors: none; false, and the caller writes the zeros.
#pragma once

#include <cstddef>

namespace thalweg {

inline constexpr size_t kZeroPagesFrom = size_t{256} << 20;

bool ReleaseToZeros(void* block, size_t bytes);

}  // namespace thalweg
