// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/index_shuffle.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "thalweg/compute/interruption.h"

namespace thalweg::compute {
namespace {

// The third of the cipher's constant sequences.
constexpr std::string_view kSequence =
    "10101111011100000011010010011000101000010001111110010110110011";

// Half of what numbers below max_index need, eight at least: TensorFlow's size.
int WordBits(uint64_t max_index) {
  const int bits = max_index == 0 ? 0 : static_cast<int>(std::bit_width(max_index - 1));
  return std::max(8, (bits + 1) / 2);
}

uint64_t Mask(int bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

IndexShuffle::IndexShuffle(const std::array<uint32_t, 3>& key, uint64_t max_index, int rounds)
    : max_index_(max_index), bits_(WordBits(max_index)) {
  for (const uint32_t word : key) round_keys_.push_back(word & Mask(bits_));
  for (int i = 3; i < rounds; ++i) {
    uint64_t mixed = Rotated(round_keys_.back(), bits_ - 3);
    mixed ^= Rotated(mixed, bits_ - 1);
    const auto at = static_cast<size_t>(i - 3);
    // TensorFlow cuts the sequence off at the size of a word.
    const uint64_t bit = at < static_cast<size_t>(bits_) && kSequence[at] == '1' ? 1 : 0;
    round_keys_.push_back((Mask(bits_) ^ 3) ^ bit ^ round_keys_[at] ^ mixed);
  }
}

uint64_t IndexShuffle::operator()(uint64_t index) const {
  if (max_index_ == 0) return 0;
  do {
    Interruption::Look();
    index = Encrypted(index);
  } while (index > max_index_);
  return index;
}

uint64_t IndexShuffle::Rotated(uint64_t word, int by) const {
  by %= bits_;
  return ((word << by) | (word >> (bits_ - by))) & Mask(bits_);
}

uint64_t IndexShuffle::Encrypted(uint64_t block) const {
  uint64_t x = block & Mask(bits_), y = (block >> bits_) & Mask(bits_);
  for (const uint64_t key : round_keys_) {
    const uint64_t next = y ^ ((Rotated(x, 1) & Rotated(x, 8)) ^ Rotated(x, 2)) ^ key;
    y = x;
    x = next;
  }
  return y << bits_ | x;
}

}  // namespace thalweg::compute
