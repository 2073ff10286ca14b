// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/block_file.h"

#include <algorithm>
#include <cstring>

namespace thalweg {
namespace {

constexpr int64_t kSmallestBlock = 4096;
constexpr int64_t kLargestBlock = int64_t{64} << 20;

}  // namespace

Result<BlockFile> BlockFile::Open(const std::string& path, int64_t block_bytes) {
  PosixFileSystem files;
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files.OpenForReading(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const int64_t block = std::clamp(block_bytes, kSmallestBlock, kLargestBlock);
  return BlockFile(path, std::move(file), size, static_cast<size_t>(block));
}

void BlockFile::Seek(uint64_t offset) {
  begin_offset_ = offset;
  begin_ = end_ = 0;
}

Result<std::string_view> BlockFile::Ahead(size_t n) {
  if (end_ - begin_ >= n) return Ready();
  // What is left goes to the front, the next block behind it.
  const size_t left = end_ - begin_;
  std::memmove(block_.data(), block_.data() + begin_, left);
  begin_offset_ += begin_;
  begin_ = 0;
  end_ = left;
  const uint64_t in_file = size_ - std::min<uint64_t>(size_, begin_offset_ + left);
  const size_t wanted = std::min<uint64_t>(std::max(n, block_bytes_) - left, in_file);
  if (block_.size() < left + wanted) block_.resize(left + wanted);
  size_t got = 0;
  while (got < wanted) {
    ASSIGN_OR_RETURN(const size_t read, file_->Read(begin_offset_ + left + got,
                                                    block_.data() + left + got, wanted - got));
    if (read == 0) break;  // the file has shrunk
    got += read;
  }
  end_ = left + got;
  return Ready();
}

}  // namespace thalweg
