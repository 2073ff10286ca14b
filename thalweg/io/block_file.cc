// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/block_file.h"

#include <algorithm>
#include <cstring>

namespace thalweg {
namespace {

constexpr int64_t kSmallestBlock = 4096;
constexpr int64_t kLargestBlock = int64_t{64} << 20;
// No more is read at once of what someone claims that there is.
constexpr size_t kMostAtOnce = size_t{16} << 20;

}  // namespace

BlockFile::BlockFile(std::string path, std::unique_ptr<RandomAccessFile> file,
                     const BlockFileOptions& options)
    : path_(std::move(path)),
      file_(std::move(file)),
      is_compressed_(options.compression != Compression::kNone),
      block_bytes_(
          static_cast<size_t>(std::clamp(options.block_bytes, kSmallestBlock, kLargestBlock))) {}

Result<BlockFile> BlockFile::Open(FileSystem& fs, std::string path,
                                  const BlockFileOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  ASSIGN_OR_RETURN(file, OpenInflated(std::move(file), path, options.compression));
  return BlockFile(std::move(path), std::move(file), options);
}

Result<std::optional<uint64_t>> BlockFile::Size() const {
  if (is_compressed_) return std::optional<uint64_t>();
  ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
  return std::optional<uint64_t>(size);
}

Result<std::string_view> BlockFile::Ahead(size_t n) {
  if (end_ - begin_ >= n) return Ready();
  // What is left goes to the front, the next blocks behind it.
  if (begin_ > 0) std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
  begin_offset_ += begin_;
  end_ -= begin_;
  begin_ = 0;
  while (end_ < n) {
    const size_t piece = std::max(std::min(n - end_, kMostAtOnce), block_bytes_);
    if (block_.size() - end_ < piece) block_.resize(end_ + piece);
    ASSIGN_OR_RETURN(const size_t read,
                     file_->Read(begin_offset_ + end_, block_.data() + end_, piece));
    if (read == 0) break;
    end_ += read;
  }
  return Ready();
}

Result<uint64_t> BlockFile::Skip(uint64_t n) {
  uint64_t skipped = 0;
  while (true) {
    const uint64_t here = std::min<uint64_t>(n - skipped, Ready().size());
    Take(static_cast<size_t>(here));
    skipped += here;
    if (skipped == n) return n;
    ASSIGN_OR_RETURN(const std::string_view ahead, Ahead(1));
    if (ahead.empty()) return skipped;
  }
}

Status BlockFile::Seek(uint64_t offset, const std::function<Status()>& go_on) {
  if (!is_compressed_) {
    begin_offset_ = offset;
    begin_ = end_ = 0;
    return OkStatus();
  }
  while (this->offset() < offset) {
    RETURN_IF_ERROR(go_on());
    const uint64_t piece = std::min<uint64_t>(offset - this->offset(), block_bytes_);
    ASSIGN_OR_RETURN(const uint64_t skipped, Skip(piece));
    if (skipped < piece) break;
  }
  if (this->offset() == offset) return OkStatus();
  return DataLoss(path_, ": expected to go on at byte ", offset,
                  " of what was compressed, which ends at byte ", this->offset());
}

}  // namespace thalweg
