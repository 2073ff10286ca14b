// SPDX-License-Identifier: Apache-2.0
// TableWriter and TableReader: files that map sorted keys to values, in LevelDB's table format
// without compression: data blocks, an empty meta index, an index of the blocks, a footer of 48
// bytes with a magic number. Each block is followed by its compression type (0) and its masked
// CRC-32C.
//
//   TableWriter writer(*file);
//   RETURN_IF_ERROR(writer.Add("a", "1"));
//   RETURN_IF_ERROR(writer.Finish());
//   ASSIGN_OR_RETURN(auto table, ReadTable(*written, path));  // all entries, in order
//   ASSIGN_OR_RETURN(auto reader, TableReader::Open(*written, path));
//   ASSIGN_OR_RETURN(auto value, reader.Find("a"));          // reads one block
//
// Ownership: points at its file, which outlives it; entries are copies.
// Threads: a writer one at a time; const members of a reader from any.
// Errors: DataLoss with file and offset for what is not as written, Unimplemented for a compressed
// block, InvalidArgument for keys that do not rise; the file's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/table_block.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {

class TableWriter {
 public:
  explicit TableWriter(WritableFile& file) : file_(file) {}
  // Keys must rise; InvalidArgument otherwise.
  Status Add(std::string_view key, std::string_view value);
  // Writes indexes and footer; the file stays open.
  Status Finish();

 private:
  static constexpr size_t kBlockBytes = 262144;
  Status FlushBlock();
  // Appends the block and its trailer; its handle (offset and size) as the index stores it.
  Result<std::string> WriteBlock(const std::string& block);

  WritableFile& file_;
  TableBlockBuilder data_{16};
  TableBlockBuilder index_{1};
  uint64_t offset_ = 0;
  bool started_ = false;
  std::string last_key_;
  std::string pending_handle_;  // of a finished block that waits for the next key
};

using TableEntries = std::vector<std::pair<std::string, std::string>>;

// Where a block lies; behind it come kTableTrailerBytes of its own.
struct TableBlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
};
inline constexpr uint64_t kTableFooterBytes = 48;
inline constexpr uint64_t kTableTrailerBytes = 5;

// What the footer, the last bytes of a table, leads to.
struct TableFooter {
  TableBlockHandle meta;
  TableBlockHandle index;
};
Result<TableFooter> ReadTableFooter(const RandomAccessFile& file, const std::string& path);

// A block as it lies in the file, whether or not it is what was written.
struct StoredTableBlock {
  std::string bytes;
  int compression = 0;        // 0: none
  uint32_t expected_crc = 0;  // as its trailer has it, unmasked
  uint32_t found_crc = 0;     // that of the bytes
};
// DataLoss for one that lies outside of the file.
Result<StoredTableBlock> ReadStoredTableBlock(const RandomAccessFile& file, const std::string& path,
                                              const TableBlockHandle& handle);
// A handle as it stands in an index and in the footer; false where there is none.
bool ReadTableBlockHandle(WireReader& reader, TableBlockHandle* handle);

// Finds entries by key. The file must outlive it; `path` is for messages.
class TableReader {
 public:
  static Result<TableReader> Open(const RandomAccessFile& file, std::string path);
  // Nothing where there is no such key.
  Result<std::optional<std::string>> Find(std::string_view key) const;
  Result<TableEntries> All() const;

 private:
  struct Block {
    std::string last_key;  // or one after it, before the next block's first
    TableBlockHandle handle;
  };
  TableReader(const RandomAccessFile& file, std::string path)
      : file_(&file), path_(std::move(path)) {}
  Result<std::string> ReadBlock(const TableBlockHandle& handle) const;

  const RandomAccessFile* file_;
  std::string path_;
  std::vector<Block> blocks_;
};

// All entries of a table file. `path` is for messages.
Result<TableEntries> ReadTable(const RandomAccessFile& file, const std::string& path);

}  // namespace thalweg
