// SPDX-License-Identifier: Apache-2.0
// Prefetch: asks for memory that will soon be read or written, so that it is in the cache by then.
//
//   for (size_t i = 0; i < texts.size(); ++i) {
//     if (i + 1 < texts.size()) Prefetch(texts[i + 1].data(), texts[i + 1].size());
//     Parse(texts[i]);
//   }
//
// For what the processor does not foresee: many pieces that lie anywhere. Of a long one only the
// beginning is asked for, since the processor then goes on by itself.
// Ownership: none; memory that is not there is no error.
// Threads: any.
// Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace thalweg {

inline void Prefetch(const void* begin, size_t bytes) {
  constexpr size_t kLine = 64, kMost = 2048;
  // Of an address alone: there need not be an object.
  const auto first = reinterpret_cast<uintptr_t>(begin);
  for (size_t i = 0; i < std::min(bytes, kMost); i += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(first + i));
  }
  // Else gcc takes a function that does no more than this for one that does nothing.
  asm volatile("");
}

}  // namespace thalweg
