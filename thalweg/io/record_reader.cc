// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_reader.h"

#include <algorithm>

#include "thalweg/base/crc32c.h"
#include "thalweg/io/fixed_int.h"

namespace thalweg {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kFooterBytes = 4;
constexpr size_t kReadBytes = size_t{1} << 18;

}  // namespace

Result<RecordReader> RecordReader::Open(FileSystem& fs, std::string path) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  return RecordReader(std::move(path), std::move(file), size);
}

Result<const char*> RecordReader::Take(size_t n) {
  if (offset_ < buffer_begin_ || offset_ + n > buffer_begin_ + buffer_.size()) {
    const uint64_t left = size_ - offset_;
    buffer_.resize(static_cast<size_t>(std::min<uint64_t>(left, std::max(n, kReadBytes))));
    buffer_begin_ = offset_;
    RETURN_IF_ERROR(
        ReadExactly(*file_, offset_, buffer_.data(), buffer_.size()).WithContext(path_));
  }
  const char* const bytes = buffer_.data() + (offset_ - buffer_begin_);
  offset_ += n;
  return bytes;
}

Result<std::optional<std::string>> RecordReader::Next() {
  if (size_ - offset_ < kHeaderBytes) return std::optional<std::string>();
  const uint64_t begin = offset_;
  ASSIGN_OR_RETURN(const char* header, Take(kHeaderBytes));
  const uint64_t length = LoadFixed64(header);
  if (UnmaskCrc32c(LoadFixed32(header + 8)) != Crc32c({header, 8})) {
    return DataLoss(path_, ": the length of the record at byte ", begin,
                    " does not match its checksum");
  }
  if (size_ - offset_ < kFooterBytes || length > size_ - offset_ - kFooterBytes) {
    return DataLoss(path_, ": truncated record at ", begin, ": ", length, " bytes, the file has ",
                    size_ - offset_);
  }
  ASSIGN_OR_RETURN(const char* bytes, Take(static_cast<size_t>(length) + kFooterBytes));
  std::string record(bytes, static_cast<size_t>(length));
  if (UnmaskCrc32c(LoadFixed32(bytes + length)) != Crc32c(record)) {
    return DataLoss(path_, ": the record at byte ", begin, " does not match its checksum");
  }
  return std::optional<std::string>(std::move(record));
}

}  // namespace thalweg
