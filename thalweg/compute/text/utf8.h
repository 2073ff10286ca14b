// SPDX-License-Identifier: Apache-2.0
// Steps over UTF-8 text that need not be valid: a character is a byte that does not continue
// another, and the continuation bytes after it.
// Ownership: none; the text is the caller's.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::compute {

inline bool ContinuesUtf8(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

inline int64_t Utf8Length(std::string_view text) {
  int64_t n = 0;
  for (const char c : text) n += !ContinuesUtf8(c);
  return n;
}

}  // namespace thalweg::compute
