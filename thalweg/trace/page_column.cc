// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/page_column.h"

#include <algorithm>
#include <bit>

#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

constexpr size_t kChunk = size_t{3} << 18;  // a megabyte of base64
constexpr uint32_t kWidest = 32;
constexpr uint32_t kAbove = 56;  // bits of a larger number beside its width

// By how many bits they have.
using Sizes = std::array<uint32_t, 65>;

// That with which a block takes least.
uint32_t BestWidth(const Sizes& sizes) {
  uint32_t count = 0, most = 0;
  for (uint32_t bits = 0; bits < sizes.size(); ++bits) {
    count += sizes[bits];
    if (sizes[bits] > 0) most = bits;
  }
  uint32_t best = 0, least = UINT32_MAX, larger = count;
  for (uint32_t width = 0; width <= std::min(most, kWidest); ++width) {
    larger -= sizes[width];
    const uint32_t words = (count * width + 31) / 32 + 2 * larger;
    if (most > width + kAbove || words >= least) continue;
    best = width;
    least = words;
  }
  return best;
}

}  // namespace

PageColumn::~PageColumn() {
  if (count_ > 0) Pack();
  Flush();
}

void PageColumn::Pack() {
  Sizes sizes{};
  for (size_t i = 0; i < count_; ++i) ++sizes[static_cast<size_t>(std::bit_width(block_[i]))];
  const uint32_t width = BestWidth(sizes);
  uint64_t larger = 0;
  for (uint32_t bits = width + 1; bits < sizes.size(); ++bits) larger += sizes[bits];
  AddWord(width | (count_ - 1) << 8 | larger << 16);
  PackLowBits(width);
  for (uint64_t i = 0; i < count_; ++i) {
    const uint64_t above = block_[i] >> width;
    if (above == 0) continue;
    AddWord(i | above << 8);
    AddWord(above >> 24);
  }
  count_ = 0;
  if (bytes_.size() >= kChunk) Flush();
}

void PageColumn::PackLowBits(uint32_t width) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  uint64_t word = 0;
  uint32_t bits = 0;
  for (size_t i = 0; i < count_; ++i) {
    word |= (block_[i] & mask) << bits;
    bits += width;
    if (bits < 32) continue;
    AddWord(word);
    word >>= 32;
    bits -= 32;
  }
  if (bits > 0) AddWord(word);
}

// The lowest 32 bits.
void PageColumn::AddWord(uint64_t word) {
  const auto byte = [&](int i) { return static_cast<char>(word >> (8 * i)); };
  const std::array<char, 4> bytes{byte(0), byte(1), byte(2), byte(3)};
  bytes_.append(bytes.data(), bytes.size());
}

void PageColumn::Flush() {
  if (bytes_.empty()) return;
  *page_ += "<!--column ";
  *page_ += name_;
  *page_ += ' ';
  *page_ += Base64(bytes_);
  *page_ += "-->\n";
  bytes_.clear();
}

}  // namespace thalweg
