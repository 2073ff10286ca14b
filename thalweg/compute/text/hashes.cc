// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/hashes.h"

#include <bit>
#include <cstring>

namespace thalweg::compute {
namespace {

// The next `n` <= 8 bytes as a little-endian number.
uint64_t Word(const char* at, size_t n = 8) {
  uint64_t word = 0;
  std::memcpy(&word, at, n);
  return word;
}

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Add(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t Murmur64(std::string_view bytes) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE, kFactor = 0xc6a4a7935bd1e995;
  constexpr int kShift = 47;
  uint64_t hash = kSeed ^ (bytes.size() * kFactor);
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word = Word(at) * kFactor;
    word = (word ^ (word >> kShift)) * kFactor;
    hash = (hash ^ word) * kFactor;
  }
  if (left > 0) hash = (hash ^ Word(at, left)) * kFactor;
  hash = (hash ^ (hash >> kShift)) * kFactor;
  return hash ^ (hash >> kShift);
}

uint64_t SipHash(uint64_t key0, uint64_t key1, std::string_view bytes) {
  SipState s{0x736f6d6570736575 ^ key0, 0x646f72616e646f6d ^ key1, 0x6c7967656e657261 ^ key0,
             0x7465646279746573 ^ key1};
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) s.Add(Word(at));
  s.Add((left > 0 ? Word(at, left) : 0) | static_cast<uint64_t>(bytes.size()) << 56);
  s.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) s.Round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

}  // namespace thalweg::compute
