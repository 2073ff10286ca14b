// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/summary/stored_zlib.h"

#include <algorithm>

namespace thalweg::compute {
namespace {

constexpr size_t kMaxStored = 65535;  // what a stored block of deflate holds

}  // namespace

void AppendBig(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::string StoredZlib::Add(std::string_view data, bool is_last) {
  std::string out;
  out.reserve(data.size() + 5 * (data.size() / kMaxStored + 1) + 6);
  if (!begun_) out = "\x78\x01";
  begun_ = true;
  for (size_t done = 0; done < data.size() || is_last;) {
    const size_t count = std::min(kMaxStored, data.size() - done);
    const bool ends = is_last && done + count == data.size();
    out.push_back(ends ? 1 : 0);
    for (const size_t word : {count, ~count}) {
      out.push_back(static_cast<char>(word & 0xFF));
      out.push_back(static_cast<char>(word >> 8 & 0xFF));
    }
    out.append(data.substr(done, count));
    done += count;
    if (ends) break;
  }
  for (const char c : data) {  // Adler-32
    low_ = (low_ + static_cast<uint8_t>(c)) % 65521;
    high_ = (high_ + low_) % 65521;
  }
  if (is_last) AppendBig(out, high_ << 16 | low_);
  return out;
}

}  // namespace thalweg::compute
