// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/file_parts.h"

#include <algorithm>

#include "thalweg/io/record_framing.h"

namespace thalweg {

using Part = std::optional<std::string_view>;

namespace {

Status AskForRoom(const BlockFile& file, const MakeRoom& make_room, uint64_t bytes,
                  std::string_view what) {
  Status room = make_room ? make_room(bytes) : OkStatus();
  if (room.ok()) return room;
  return room.WithContext(StrCat(file.path(), ": ", what, " ", file.offset()));
}

}  // namespace

Result<Part> NextLine(BlockFile& file, const MakeRoom& make_room) {
  std::string_view ahead = file.Ready();
  for (size_t seen = 0;;) {
    const size_t length = ahead.find('\n', seen);
    if (length != std::string_view::npos) {
      file.Take(length + 1);
      return Part(ahead.substr(0, length));
    }
    seen = ahead.size();
    RETURN_IF_ERROR(AskForRoom(file, make_room, seen + file.block_bytes(), "line at byte"));
    ASSIGN_OR_RETURN(ahead, file.Ahead(seen + 1));
    if (ahead.size() > seen) continue;
    if (ahead.empty()) return Part();
    file.Take(ahead.size());
    return Part(ahead);
  }
}

Result<Part> NextRecord(BlockFile& file, const MakeRoom& make_room) {
  const uint64_t at = file.offset();
  ASSIGN_OR_RETURN(std::string_view ahead, file.Ahead(kRecordHeaderBytes));
  if (ahead.size() < kRecordHeaderBytes) return Part();
  const Result<uint64_t> length = RecordLength(ahead.substr(0, kRecordHeaderBytes), at);
  if (!length.ok()) return length.status().WithContext(file.path());
  const auto truncated = [&](uint64_t has) {
    return DataLoss("truncated record at ", at, " of ", file.path(), ": ", *length,
                    " bytes, the file has ", has - kRecordHeaderBytes);
  };
  constexpr uint64_t kMost = uint64_t{1} << 62;
  if (*length > kMost) return truncated(ahead.size());
  const size_t wanted = kRecordHeaderBytes + static_cast<size_t>(*length) + kRecordFooterBytes;
  if (ahead.size() < wanted) {
    // No room is asked for on a claim that the file cannot keep.
    ASSIGN_OR_RETURN(const std::optional<uint64_t> size, file.Size());
    if (size && *size < at + wanted) {
      return truncated(std::max(*size, at + ahead.size()) - at);
    }
  }
  RETURN_IF_ERROR(AskForRoom(file, make_room, *length, "record at"));
  ASSIGN_OR_RETURN(ahead, file.Ahead(wanted));
  if (ahead.size() < wanted) return truncated(ahead.size());
  const std::string_view data =
      ahead.substr(kRecordHeaderBytes, static_cast<size_t>(*length) + kRecordFooterBytes);
  RETURN_IF_ERROR(CheckRecord(data, at).WithContext(file.path()));
  file.Take(wanted);
  return Part(data.substr(0, static_cast<size_t>(*length)));
}

}  // namespace thalweg
