// SPDX-License-Identifier: Apache-2.0
// CopyChunks: copies the bytes of a row that has some tens of them, such as that of an embedding,
// where a call of memmove costs more than its bytes.
//   const std::array<float, 10> row{};
//   std::array<float, 10> copy;
//   if (InChunks(sizeof(row))) CopyChunks(row.data(), copy.data(), sizeof(row));
//
// Ownership: none; the rows are the caller's and do not overlap.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>
#include <cstring>

namespace thalweg::compute {

inline constexpr int64_t kRowChunk = 16;

inline bool InChunks(int64_t bytes) { return bytes >= kRowChunk && bytes <= 16 * kRowChunk; }

// The last chunk ends where the row ends, and so may repeat bytes of the one before.
inline void CopyChunks(const void* from, void* to, int64_t bytes) {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const int64_t last = bytes - kRowChunk;
  for (int64_t i = 0; i < last; i += kRowChunk) std::memcpy(target + i, source + i, kRowChunk);
  std::memcpy(target + last, source + last, kRowChunk);
}

}  // namespace thalweg::compute
