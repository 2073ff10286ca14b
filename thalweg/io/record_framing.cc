// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_framing.h"

#include <cstdio>

#include "thalweg/base/crc32c.h"
#include "thalweg/io/fixed_int.h"

namespace thalweg {
namespace {

// The checksum after `what`, of the bytes at `at`, against their own.
Status CheckCrc(std::string_view what, uint64_t at, uint32_t masked, std::string_view bytes) {
  const uint32_t expected = UnmaskCrc32c(masked), found = Crc32c(bytes);
  if (expected == found) return OkStatus();
  char sums[64];
  std::snprintf(sums, sizeof(sums), "expected crc32c %08x, found crc32c %08x", expected, found);
  return DataLoss("corrupted record at ", at, ": the checksum of its ", what, ": ", sums);
}

}  // namespace

std::string FrameRecord(std::string_view data) {
  std::string framed;
  framed.reserve(kRecordHeaderBytes + data.size() + kRecordFooterBytes);
  AppendFixed64(framed, data.size());
  AppendFixed32(framed, MaskCrc32c(Crc32c(framed)));
  framed.append(data);
  AppendFixed32(framed, MaskCrc32c(Crc32c(data)));
  return framed;
}

Result<uint64_t> RecordLength(std::string_view header, uint64_t at) {
  if (header.size() != kRecordHeaderBytes) {
    return InvalidArgument("the header of a record has ", kRecordHeaderBytes, " bytes, not ",
                           header.size());
  }
  RETURN_IF_ERROR(CheckCrc("length", at, LoadFixed32(header.data() + 8), header.substr(0, 8)));
  return LoadFixed64(header.data());
}

Status CheckRecord(std::string_view data_and_footer, uint64_t at) {
  if (data_and_footer.size() < kRecordFooterBytes) {
    return InvalidArgument("the footer of a record has ", kRecordFooterBytes, " bytes, not ",
                           data_and_footer.size());
  }
  const std::string_view data =
      data_and_footer.substr(0, data_and_footer.size() - kRecordFooterBytes);
  // The place is that of its bytes, as TensorFlow tells it.
  return CheckCrc("bytes", at + kRecordHeaderBytes, LoadFixed32(data.data() + data.size()), data);
}

}  // namespace thalweg
