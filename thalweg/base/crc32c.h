// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), the checksum of record files, event files and checkpoints.
//
//   uint32_t crc = Crc32c(bytes);                    // whole
//   crc = ExtendCrc32c(crc, more);                   // as if computed over bytes + more
//   stored = MaskCrc32c(crc);                        // the form that files hold
//
// Files store the masked form because the checksum of data that contains its own checksum is
// degenerate. Uses the CPU's instruction where it has one (checked at run time), else a table.
// Ownership: keeps nothing of the bytes.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg {

// The checksum of some bytes followed by `data`, given the checksum of those bytes (0 for none).
uint32_t ExtendCrc32c(uint32_t crc, std::string_view data);
inline uint32_t Crc32c(std::string_view data) { return ExtendCrc32c(0, data); }

inline constexpr uint32_t kCrc32cMaskDelta = 0xa282ead8u;
inline constexpr uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + kCrc32cMaskDelta;
}
inline constexpr uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - kCrc32cMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

// The table path by itself, so that a test can compare it with the CPU's instruction.
uint32_t ExtendCrc32cByTable(uint32_t crc, std::string_view data);

}  // namespace thalweg
