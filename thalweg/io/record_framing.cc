// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_framing.h"

#include "thalweg/base/crc32c.h"
#include "thalweg/io/fixed_int.h"

namespace thalweg {

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
  if (UnmaskCrc32c(LoadFixed32(header.data() + 8)) != Crc32c(header.substr(0, 8))) {
    return DataLoss("corrupted record at ", at);
  }
  return LoadFixed64(header.data());
}

Status CheckRecord(std::string_view data_and_footer, uint64_t at) {
  if (data_and_footer.size() < kRecordFooterBytes) {
    return InvalidArgument("the footer of a record has ", kRecordFooterBytes, " bytes, not ",
                           data_and_footer.size());
  }
  const std::string_view data =
      data_and_footer.substr(0, data_and_footer.size() - kRecordFooterBytes);
  if (UnmaskCrc32c(LoadFixed32(data.data() + data.size())) != Crc32c(data)) {
    // The place is that of its bytes, as TensorFlow tells it.
    return DataLoss("corrupted record at ", at + kRecordHeaderBytes);
  }
  return OkStatus();
}

}  // namespace thalweg
