// SPDX-License-Identifier: Apache-2.0
// The framing of TFRecord and event files: before a record its length (fixed64) and the masked
// CRC-32C of that, after it the one of its bytes.
//
//   file += FrameRecord("one");
//   ASSIGN_OR_RETURN(uint64_t length, RecordLength(file.substr(at, kRecordHeaderBytes), at));
//   RETURN_IF_ERROR(CheckRecord(rest.substr(0, length + kRecordFooterBytes), at));
//
// `at` is where the record begins in its file, for messages.
// Ownership: values; nothing of the bytes is kept.
// Threads: any.
// Errors: DataLoss for what does not match its checksum, with both checksums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

constexpr size_t kRecordHeaderBytes = 12;
constexpr size_t kRecordFooterBytes = 4;

// A record as it stands in a file.
std::string FrameRecord(std::string_view data);
// How many bytes come between this header and the footer.
Result<uint64_t> RecordLength(std::string_view header, uint64_t at);
// The bytes of a record and the footer after them.
Status CheckRecord(std::string_view data_and_footer, uint64_t at);

}  // namespace thalweg
