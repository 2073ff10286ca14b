// SPDX-License-Identifier: Apache-2.0
// FarmHash's fingerprints of a string of bytes, of 64 and 128 bits: the same on every machine and
// in every version, so that they may be stored. Not for secrets.
//   uint64_t f = Fingerprint64("abc");
//
// Ownership: keeps nothing of the bytes.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg {

uint64_t Fingerprint64(std::string_view bytes);

struct WideFingerprint {
  uint64_t low = 0, high = 0;
};
WideFingerprint Fingerprint128(std::string_view bytes);

}  // namespace thalweg
