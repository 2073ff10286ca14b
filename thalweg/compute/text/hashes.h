// SPDX-License-Identifier: Apache-2.0
// Hashes of strings that graphs and files rely on, beside base/fingerprint.h: the same in every
// version.
//   uint64_t bucket = Murmur64("abc") % 100;
//
// Ownership: none; a number.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg::compute {

// MurmurHash64A with the seed of StringToHashBucket.
uint64_t Murmur64(std::string_view bytes);

// SipHash-2-4: who does not know the key cannot find strings of one hash.
uint64_t SipHash(uint64_t key0, uint64_t key1, std::string_view bytes);

}  // namespace thalweg::compute
