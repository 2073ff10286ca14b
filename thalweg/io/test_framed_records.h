// SPDX-License-Identifier: Apache-2.0
// For fuzzers: records out of arbitrary bytes, each a byte of its length and its bytes.
//   const std::vector<std::string> records = RecordsOf(input);
//   const std::string file = FramedFile(records);  // a TFRecord file, its checksums right
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/io/record_framing.h"

namespace thalweg {

inline std::vector<std::string> RecordsOf(std::string_view input) {
  std::vector<std::string> records;
  while (!input.empty()) {
    const size_t length = std::min<size_t>(static_cast<uint8_t>(input[0]), input.size() - 1);
    records.emplace_back(input.substr(1, length));
    input.remove_prefix(1 + length);
  }
  return records;
}

inline std::string FramedFile(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) file += FrameRecord(record);
  return file;
}

}  // namespace thalweg
