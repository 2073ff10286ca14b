// SPDX-License-Identifier: Apache-2.0
// StoredZlib: a zlib stream whose bytes are stored, not compressed. Any reader of zlib takes it.
//
//   StoredZlib zlib;
//   file += zlib.Add("one");
//   file += zlib.Add("two", true);  // the last
//
// What Add gave so far is all that a reader needs to come that far.
// Ownership: none.
// Threads: one.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg::compute {

class StoredZlib {
 public:
  // The next bytes of the stream, which hold `data`.
  std::string Add(std::string_view data, bool is_last = false);

 private:
  bool begun_ = false;
  uint32_t low_ = 1, high_ = 0;  // the checksum's sums
};

// A number as PNG and zlib write it, the highest byte first.
void AppendBig(std::string& out, uint32_t value);

}  // namespace thalweg::compute
