// SPDX-License-Identifier: Apache-2.0
// Fingerprint64: FarmHash's 64-bit fingerprint of a string of bytes: the same on every machine and
// in every version, so that it may be stored. Not for secrets.
//   uint64_t f = Fingerprint64("abc");
#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg {

uint64_t Fingerprint64(std::string_view bytes);

}  // namespace thalweg
