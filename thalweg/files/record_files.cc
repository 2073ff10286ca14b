// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/record_files.h"

#include "thalweg/io/file_parts.h"
#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

Compression CompressionOf(std::string_view begin) {
  if (begin.size() >= kRecordHeaderBytes &&
      RecordLength(begin.substr(0, kRecordHeaderBytes), 0).ok()) {
    return Compression::kNone;
  }
  const auto byte = [&](size_t i) {
    return i < begin.size() ? static_cast<uint8_t>(begin[i]) : uint8_t{0};
  };
  if (byte(0) == 0x1f && byte(1) == 0x8b) return Compression::kGzip;
  // A method of deflate with a window of at most 32 KiB, and the check of these two bytes.
  constexpr int kZlibCheck = 31;
  const bool is_zlib =
      (byte(0) & 0x0f) == 8 && byte(0) >> 4 <= 7 && (byte(0) * 256 + byte(1)) % kZlibCheck == 0;
  return is_zlib ? Compression::kZlib : Compression::kNone;
}

std::string_view CompressionName(Compression compression) {
  if (compression == Compression::kNone) return "not at all";
  return compression == Compression::kGzip ? "gzip" : "zlib";
}

Result<Compression> DetectCompression(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  char begin[kRecordHeaderBytes];
  ASSIGN_OR_RETURN(const size_t n, file->Read(0, begin, sizeof(begin)));
  return CompressionOf({begin, n});
}

}  // namespace

Result<BlockFile> OpenRecordFile(FileSystem& fs, const std::string& path) {
  constexpr int64_t kRecordBlockBytes = int64_t{1} << 20;
  ASSIGN_OR_RETURN(const Compression compression, DetectCompression(fs, path));
  return BlockFile::Open(fs, path, {.block_bytes = kRecordBlockBytes, .compression = compression});
}

Result<uint64_t> RecordFileBytes(FileSystem& fs, const std::vector<std::string>& paths) {
  uint64_t bytes = 0;
  bool is_known = true;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
    bytes += info.size;
    if (info.size == 0) continue;
    ASSIGN_OR_RETURN(const Compression compression, DetectCompression(fs, path));
    is_known &= compression == Compression::kNone;
  }
  return is_known ? bytes : 0;
}

Result<Compression> RecordFileCompression(FileSystem& fs, const std::vector<std::string>& paths) {
  std::optional<Compression> all;
  std::string_view first;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
    if (info.size == 0) continue;
    ASSIGN_OR_RETURN(const Compression compression, DetectCompression(fs, path));
    if (all && *all != compression) {
      return InvalidArgument(path, " is compressed otherwise (", CompressionName(compression),
                             ") than ", first, " (", CompressionName(*all),
                             "): how the new files are is to be said, as in --compression gzip");
    }
    if (!all) first = path;
    all = compression;
  }
  return all.value_or(Compression::kNone);
}

uint64_t RecordFiles::StoredBytes(std::string_view record) {
  return kRecordHeaderBytes + record.size() + kRecordFooterBytes;
}

Result<std::optional<std::string_view>> RecordFiles::Next() {
  const auto make_room = [this](uint64_t bytes) {
    if (bytes <= most_bytes_) return OkStatus();
    return ResourceExhausted("a record of ", bytes, " bytes does not fit in ", most_bytes_,
                             " bytes");
  };
  for (; at_ < paths_.size(); ++at_) {
    if (!file_) {
      ASSIGN_OR_RETURN(file_, OpenRecordFile(fs_, path()));
    }
    offset_ = file_->offset();
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record, NextRecord(*file_, make_room));
    if (record) return record;
    if (!file_->Ready().empty()) {
      return DataLoss(path(), ": truncated record at ", offset_, ": expected a header of ",
                      kRecordHeaderBytes, " bytes, the file has ", file_->Ready().size());
    }
    file_.reset();
  }
  return std::optional<std::string_view>();
}

}  // namespace thalweg
