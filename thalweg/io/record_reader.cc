// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_reader.h"

#include <algorithm>

#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

constexpr size_t kRecordReadBytes = size_t{1} << 18;
constexpr size_t kMostReadAtOnce = size_t{1} << 24;

}  // namespace

Result<RecordReader> RecordReader::Open(FileSystem& fs, std::string path, Compression kind) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  uint64_t size = kUnknownSize;
  if (kind == Compression::kNone) {
    ASSIGN_OR_RETURN(size, file->Size());
  } else {
    ASSIGN_OR_RETURN(file, OpenInflated(std::move(file), path, kind));
  }
  return RecordReader(std::move(path), std::move(file), size);
}

Result<size_t> RecordReader::Fill(size_t n) {
  if (buffer_.size() - next_ >= n) return n;
  buffer_.erase(0, next_);
  next_ = 0;
  while (buffer_.size() < n) {
    const size_t had = buffer_.size();
    const size_t piece = std::clamp(n - had, kRecordReadBytes, kMostReadAtOnce);
    buffer_.resize(had + piece);
    const Result<size_t> read = file_->Read(offset_ + had, buffer_.data() + had, piece);
    buffer_.resize(had + (read.ok() ? *read : 0));
    if (!read.ok()) return read.status();
    if (*read == 0) return had;
  }
  return n;
}

Result<std::optional<std::string>> RecordReader::Next(const MakeRoom& make_room) {
  ASSIGN_OR_RETURN(const size_t header, Fill(kRecordHeaderBytes));
  if (header < kRecordHeaderBytes) return std::optional<std::string>();
  const Result<uint64_t> length =
      RecordLength(std::string_view(buffer_).substr(next_, kRecordHeaderBytes), offset_);
  if (!length.ok()) return length.status().WithContext(path_);
  const auto truncated = [&](uint64_t has) {
    return DataLoss(path_, ": truncated record at ", offset_, ": ", *length,
                    " bytes, the file has ", has);
  };
  constexpr uint64_t kMost = uint64_t{1} << 62;
  const uint64_t after = kRecordHeaderBytes + kRecordFooterBytes;
  if (size_ != kUnknownSize && (size_ - offset_ < after || *length > size_ - offset_ - after)) {
    return truncated(size_ - offset_ - kRecordHeaderBytes);
  }
  if (*length > kMost) return truncated(buffer_.size() - next_ - kRecordHeaderBytes);
  const auto size = static_cast<size_t>(*length);
  if (make_room) {
    RETURN_IF_ERROR(make_room(size).WithContext(StrCat(path_, ": record at ", offset_)));
  }
  const size_t wanted = kRecordHeaderBytes + size + kRecordFooterBytes;
  ASSIGN_OR_RETURN(const size_t has, Fill(wanted));
  if (has < wanted) return truncated(has - kRecordHeaderBytes);
  const std::string_view framed = std::string_view(buffer_).substr(next_ + kRecordHeaderBytes);
  RETURN_IF_ERROR(
      CheckRecord(framed.substr(0, size + kRecordFooterBytes), offset_).WithContext(path_));
  offset_ += wanted;
  next_ += wanted;
  return std::optional<std::string>(std::in_place, framed.data(), size);
}

}  // namespace thalweg
