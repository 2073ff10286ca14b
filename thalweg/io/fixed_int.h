// SPDX-License-Identifier: Apache-2.0
// Little-endian integers of fixed width in files.
// Ownership: none; what is loaded from has the bytes.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace thalweg {

inline void AppendFixed32(std::string& out, uint32_t value) {
  char bytes[4];
  std::memcpy(bytes, &value, 4);  // x86 is little-endian
  out.append(bytes, 4);
}
inline void AppendFixed64(std::string& out, uint64_t value) {
  char bytes[8];
  std::memcpy(bytes, &value, 8);
  out.append(bytes, 8);
}
inline uint32_t LoadFixed32(const char* from) {
  uint32_t value;
  std::memcpy(&value, from, 4);
  return value;
}
inline uint64_t LoadFixed64(const char* from) {
  uint64_t value;
  std::memcpy(&value, from, 8);
  return value;
}

}  // namespace thalweg
