// SPDX-License-Identifier: Apache-2.0
// BlockFile: a file that is read from its beginning to its end, in blocks, by whoever looks at what
// comes next before he takes it. It may be compressed as a whole: then it is what was compressed.
//
//   ASSIGN_OR_RETURN(BlockFile file, BlockFile::Open(fs, path));
//   ASSIGN_OR_RETURN(std::string_view ahead, file.Ahead(12));   // fewer at the end of the file
//   file.Take(12);
//
// Ownership: owns the file; what Ahead and Ready give is good until the next call. The file system
// outlives it.
// Threads: one.
// Errors: the file system's; DataLoss where what was compressed is damaged. Nothing is taken then.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/inflate.h"

namespace thalweg {

struct BlockFileOptions {
  int64_t block_bytes = int64_t{256} << 10;  // read at once; at least 4 KiB, at most 64 MiB
  Compression compression = Compression::kNone;
};

class BlockFile {
 public:
  static Result<BlockFile> Open(FileSystem& fs, std::string path,
                                const BlockFileOptions& options = {});

  const std::string& path() const { return path_; }
  // Where what comes next begins.
  uint64_t offset() const { return begin_offset_ + begin_; }
  size_t block_bytes() const { return block_bytes_; }
  // As it is now; nothing for a compressed file, whose size is not known.
  Result<std::optional<uint64_t>> Size() const;
  // At least n bytes, unless the file ends before; until the next call.
  Result<std::string_view> Ahead(size_t n);
  // All that is read already.
  std::string_view Ready() const { return {block_.data() + begin_, end_ - begin_}; }
  void Take(size_t n) { begin_ += n; }
  // Takes n bytes: how many there were.
  Result<uint64_t> Skip(uint64_t n);
  // Goes to a place in the file. A compressed one is read up to there, from where it is or from its
  // beginning, if it has just been opened; `go_on` is asked before each block.
  Status Seek(uint64_t offset, const std::function<Status()>& go_on);

 private:
  BlockFile(std::string path, std::unique_ptr<RandomAccessFile> file,
            const BlockFileOptions& options);

  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  bool is_compressed_;
  size_t block_bytes_;
  std::string block_;
  uint64_t begin_offset_ = 0;  // of block_ in the file
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace thalweg
