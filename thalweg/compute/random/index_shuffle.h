// SPDX-License-Identifier: Apache-2.0
// IndexShuffle: where index i of [0, max_index] goes in a random order, without making that order:
// the Simon block cipher (Beaulieu et al., "The SIMON and SPECK families of lightweight block
// ciphers") on blocks just large enough, walked until it is back in the range.
//
//   const IndexShuffle shuffle({1, 2, 3}, 99, 4);
//   shuffle(7);                      // another number in [0, 99] for each
//
// The order is TensorFlow's, where it gives 0 and max_index one place when max_index is a power of
// 4 above 2^14: its blocks are one bit too short there. At least four rounds, an even number.
// Ownership: owns its keys.
// Threads: any, as it is immutable.
// Errors: throws Interruption::Stop where the thread has one and the step was cancelled.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace thalweg::compute {

class IndexShuffle {
 public:
  IndexShuffle(const std::array<uint32_t, 3>& key, uint64_t max_index, int rounds);
  // For index <= max_index. Takes at most as many rounds as its blocks have values, 65,536 where
  // max_index is small: looks whether the step was cancelled (interruption.h).
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t Rotated(uint64_t word, int by) const;
  uint64_t Encrypted(uint64_t block) const;

  const uint64_t max_index_;
  int bits_ = 8;  // of a word, half a block
  std::vector<uint64_t> round_keys_;
};

}  // namespace thalweg::compute
