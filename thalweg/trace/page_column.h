// SPDX-License-Identifier: Apache-2.0
// PageColumn: a column of numbers, as comments of an HTML page.
//
//   std::string page;
//   {
//     PageColumn times("time", &page);
//     times.Add(1500);
//   }  // it is in the page now
//
// Numbers stand in blocks of 256, in as many bits each as most of the block need: a browser reads
// fewer bytes than of varints, and without a branch for each. All are words of 32 bits, the lowest
// bits and bytes first:
// - a head: the width of a number (0 to 32) | how many there are, less 1, << 8 | larger ones << 16
// - the lowest bits of all numbers, without a gap, then zeros up to the next word
// - of each larger one two words: its place in the block | 24 bits of what is above << 8, the rest
// The words are base64, a megabyte or so a comment, each of whole blocks. Of all that a page may
// hold, a browser takes comments in with the least work.
// Ownership: the page and the name outlive it.
// Threads: one.
// Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg {

class PageColumn {
 public:
  PageColumn(std::string_view name, std::string* page) : name_(name), page_(page) {}
  PageColumn(const PageColumn&) = delete;
  PageColumn& operator=(const PageColumn&) = delete;
  ~PageColumn();

  void Add(uint64_t value) {
    block_[count_++] = value;
    if (count_ == block_.size()) Pack();
  }
  void AddSigned(int64_t value) {
    Add(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }

 private:
  void Pack();
  void PackLowBits(uint32_t width);
  void AddWord(uint64_t word);
  void Flush();

  const std::string_view name_;
  std::string* const page_;
  std::array<uint64_t, 256> block_{};
  size_t count_ = 0;  // of the block
  std::string bytes_;
};

}  // namespace thalweg
