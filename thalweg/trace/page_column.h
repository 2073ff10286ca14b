// SPDX-License-Identifier: Apache-2.0
// PageColumn: a column of numbers, as elements of an HTML page.
//
//   std::string page;
//   {
//     PageColumn times("time", &page);
//     times.Add(1500);
//   }  // it is in the page now
//
// Numbers are varints in base64, a megabyte or so an element, each of whole numbers.
// Ownership: the page and the name outlive it.
// Threads: one.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/proto/json_writer.h"

namespace thalweg {

class PageColumn {
 public:
  PageColumn(std::string_view name, std::string* page) : name_(name), page_(page) {}
  PageColumn(const PageColumn&) = delete;
  PageColumn& operator=(const PageColumn&) = delete;
  ~PageColumn() { Flush(); }

  void Add(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
    if (bytes_.size() >= kChunk) Flush();
  }
  void AddSigned(int64_t value) {
    Add(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }

 private:
  static constexpr size_t kChunk = size_t{1} << 20;

  void Flush() {
    if (bytes_.empty()) return;
    *page_ += "<script type=\"text/plain\" data-column=\"";
    *page_ += name_;
    *page_ += "\">" + Base64(bytes_) + "</script>\n";
    bytes_.clear();
  }

  const std::string_view name_;
  std::string* const page_;
  std::string bytes_;
};

}  // namespace thalweg
