// SPDX-License-Identifier: Apache-2.0
// Pieces of encoded messages that cost as much as their bytes can make them. For tests of what a
// message of N bytes may take.
//
//   std::string many = HostileRun(HostileTag(field.number, 2) + '\0');   // empty elements
//
// Ownership: values.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/proto/wire.h"

namespace thalweg {

inline constexpr size_t kHostileBytes = 6000;

inline void AppendHostileVarint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

inline std::string HostileTag(uint64_t number, uint64_t wire_type) {
  std::string tag;
  AppendHostileVarint(tag, number << 3 | wire_type);
  return tag;
}

// The piece until there are kHostileBytes.
inline std::string HostileRun(const std::string& piece) {
  std::string bytes;
  while (bytes.size() < kHostileBytes) bytes += piece;
  return bytes;
}

// One packed field of kHostileBytes elements.
inline std::string HostilePacked(const FieldDescriptor& field) {
  std::string packed = HostileTag(field.number, 2);
  AppendHostileVarint(packed, kHostileBytes);
  return packed + std::string(kHostileBytes, '\1');
}

// Entries of a map, each with a key that is new.
inline std::string HostileEntries(const FieldDescriptor& field) {
  std::string entries;
  for (int i = 0; entries.size() < kHostileBytes; ++i) {
    const std::string key = {static_cast<char>(1 + i % 120), static_cast<char>(1 + i / 120)};
    entries += HostileTag(field.number, 2) + '\4' + "\x0a\x02" + key;
  }
  return entries;
}

}  // namespace thalweg
