// SPDX-License-Identifier: Apache-2.0
// BlockFile: a file that is read from its beginning to its end, in blocks, by whoever looks at what
// comes next before he takes it.
//
//   ASSIGN_OR_RETURN(BlockFile file, BlockFile::Open(path, block_bytes));
//   ASSIGN_OR_RETURN(std::string_view ahead, file.Ahead(12));   // fewer at the end of the file
//   file.Take(12);
//
// Threads: one.
// Errors: the file system's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/file_system.h"

namespace thalweg {

class BlockFile {
 public:
  static Result<BlockFile> Open(const std::string& path, int64_t block_bytes);

  const std::string& path() const { return path_; }
  // Of what comes next.
  uint64_t offset() const { return begin_offset_ + begin_; }
  uint64_t size() const { return size_; }
  // At least n bytes, unless the file ends before; until the next call.
  Result<std::string_view> Ahead(size_t n);
  // All that is read already.
  std::string_view Ready() const { return {block_.data() + begin_, end_ - begin_}; }
  void Take(size_t n) { begin_ += n; }
  // Goes to a place in the file.
  void Seek(uint64_t offset);

 private:
  BlockFile(std::string path, std::unique_ptr<RandomAccessFile> file, uint64_t size,
            size_t block_bytes)
      : path_(std::move(path)), file_(std::move(file)), size_(size), block_bytes_(block_bytes) {}

  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t size_;
  size_t block_bytes_;
  std::string block_;
  uint64_t begin_offset_ = 0;  // of block_ in the file
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace thalweg
