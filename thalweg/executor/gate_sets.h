// SPDX-License-Identifier: Apache-2.0
// GateSets: sets of small numbers, each different set stored once; a set is a number, equal sets
// are equal numbers.
// Ownership: owns its sets; a number is good as long as it.
// Threads: one at a time.
// Errors: none; overflown() where the sets have become too many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thalweg {

class GateSets {
 public:
  static constexpr int kEmpty = 0;

  GateSets() { sets_.emplace_back(); }

  // True when the sets have outgrown what they are worth; results are then meaningless.
  bool overflown() const { return words_ > kMostWords; }

  int With(int set, int gate) {
    Bits bits = sets_[set];
    const size_t word = static_cast<size_t>(gate) / 64;
    if (bits.size() <= word) bits.resize(word + 1);
    bits[word] |= uint64_t{1} << (gate % 64);
    return Intern(std::move(bits));
  }

  int Union(int a, int b) {
    if (a == b || b == kEmpty) return a;
    if (a == kEmpty) return b;
    return Remember(unions_, a, b, [&] {
      const bool a_longer = sets_[a].size() >= sets_[b].size();
      Bits bits = sets_[a_longer ? a : b];
      const Bits& other = sets_[a_longer ? b : a];
      for (size_t i = 0; i < other.size(); ++i) bits[i] |= other[i];
      return bits;
    });
  }

  int Intersection(int a, int b) {
    if (a == b) return a;
    if (a == kEmpty || b == kEmpty) return kEmpty;
    return Remember(intersections_, a, b, [&] {
      Bits bits(std::min(sets_[a].size(), sets_[b].size()));
      for (size_t i = 0; i < bits.size(); ++i) bits[i] = sets_[a][i] & sets_[b][i];
      while (!bits.empty() && bits.back() == 0) bits.pop_back();
      return bits;
    });
  }

 private:
  using Bits = std::vector<uint64_t>;  // the last word is not zero
  using Memo = std::unordered_map<uint64_t, int>;
  static constexpr size_t kMostWords = size_t{32} << 20;

  template <class Make>
  int Remember(Memo& memo, int a, int b, const Make& make) {
    const uint64_t key =
        (static_cast<uint64_t>(std::min(a, b)) << 32) | static_cast<uint64_t>(std::max(a, b));
    if (const auto at = memo.find(key); at != memo.end()) return at->second;
    const int made = Intern(make());
    memo.emplace(key, made);
    return made;
  }

  int Intern(Bits bits) {
    if (bits.empty()) return kEmpty;
    uint64_t hash = bits.size();
    for (const uint64_t word : bits) hash = (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 29);
    auto [at, end] = by_hash_.equal_range(hash);
    for (; at != end; ++at) {
      if (sets_[at->second] == bits) return at->second;
    }
    if (overflown()) return kEmpty;
    words_ += bits.size();
    const int number = static_cast<int>(sets_.size());
    sets_.push_back(std::move(bits));
    by_hash_.emplace(hash, number);
    return number;
  }

  std::vector<Bits> sets_;
  std::unordered_multimap<uint64_t, int> by_hash_;
  Memo unions_, intersections_;
  size_t words_ = 0;
};

}  // namespace thalweg
