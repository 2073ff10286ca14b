// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10: a counter-based random generator (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3").
//
//   Philox gen(seed, stream);           // key = seed, upper half of the counter = stream
//   gen.Skip(1000);                     // shards of one sequence start where they like
//   Philox::Block four = gen.Next();    // 4 x 32 random bits; the counter goes up by one
//
// The same seed, stream and position give the same bits on every machine and in every thread count.
// Not for cryptography.
// Ownership: a value of 24 bytes; copies are independent.
// Threads: one at a time for each object.
// Errors: none.
#pragma once

#include <array>
#include <cstdint>

namespace thalweg {

class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  Philox() = default;
  explicit Philox(uint64_t seed, uint64_t stream = 0)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        counter_{0, 0, static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)} {}
  Philox(const Block& counter, const std::array<uint32_t, 2>& key) : key_(key), counter_(counter) {}

  const Block& counter() const { return counter_; }
  const std::array<uint32_t, 2>& key() const { return key_; }

  // Moves on by `blocks` blocks; the 128-bit counter wraps around.
  void Skip(uint64_t blocks) {
    uint64_t low = counter_[0] | (static_cast<uint64_t>(counter_[1]) << 32);
    const uint64_t before = low;
    low += blocks;
    counter_[0] = static_cast<uint32_t>(low);
    counter_[1] = static_cast<uint32_t>(low >> 32);
    if (low < before && ++counter_[2] == 0) ++counter_[3];
  }

  Block Next() {
    const Block block = Generate(counter_, key_);
    Skip(1);
    return block;
  }

  // The block at one counter value.
  static Block Generate(Block counter, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = static_cast<uint64_t>(0xd2511f53u) * counter[0];
      const uint64_t b = static_cast<uint64_t>(0xcd9e8d57u) * counter[2];
      counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
                 static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
      key[0] += 0x9e3779b9u;
      key[1] += 0xbb67ae85u;
    }
    return counter;
  }

 private:
  std::array<uint32_t, 2> key_{0, 0};
  Block counter_{0, 0, 0, 0};
};

}  // namespace thalweg
