// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_reader.h"

#include <algorithm>

#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

constexpr size_t kRecordReadBytes = size_t{1} << 18;

}  // namespace

Result<RecordReader> RecordReader::Open(FileSystem& fs, std::string path) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  return RecordReader(std::move(path), std::move(file), size);
}

Result<const char*> RecordReader::Take(size_t n) {
  if (offset_ < buffer_begin_ || offset_ + n > buffer_begin_ + buffer_.size()) {
    const uint64_t left = size_ - offset_;
    buffer_.resize(static_cast<size_t>(std::min<uint64_t>(left, std::max(n, kRecordReadBytes))));
    buffer_begin_ = offset_;
    RETURN_IF_ERROR(
        ReadExactly(*file_, offset_, buffer_.data(), buffer_.size()).WithContext(path_));
  }
  const char* const bytes = buffer_.data() + (offset_ - buffer_begin_);
  offset_ += n;
  return bytes;
}

Result<std::optional<std::string>> RecordReader::Next() {
  if (size_ - offset_ < kRecordHeaderBytes) return std::optional<std::string>();
  const uint64_t begin = offset_;
  ASSIGN_OR_RETURN(const char* header, Take(kRecordHeaderBytes));
  const Result<uint64_t> length = RecordLength({header, kRecordHeaderBytes}, begin);
  if (!length.ok()) return length.status().WithContext(path_);
  if (size_ - offset_ < kRecordFooterBytes || *length > size_ - offset_ - kRecordFooterBytes) {
    return DataLoss(path_, ": truncated record at ", begin, ": ", *length, " bytes, the file has ",
                    size_ - offset_);
  }
  const auto size = static_cast<size_t>(*length);
  ASSIGN_OR_RETURN(const char* bytes, Take(size + kRecordFooterBytes));
  RETURN_IF_ERROR(CheckRecord({bytes, size + kRecordFooterBytes}, begin).WithContext(path_));
  return std::optional<std::string>(std::in_place, bytes, size);
}

}  // namespace thalweg
