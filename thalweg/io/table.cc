// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/table.h"

#include <algorithm>

#include "thalweg/base/crc32c.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57ull;

std::string HandleBytes(uint64_t offset, uint64_t size) {
  std::string handle;
  AppendVarint(handle, offset);
  AppendVarint(handle, size);
  return handle;
}

// A short key k with last <= k < next: what the index stores for a block, to stay small.
std::string Separator(const std::string& last, std::string_view next) {
  size_t common = 0;
  const size_t limit = std::min(last.size(), next.size());
  while (common < limit && last[common] == next[common]) ++common;
  if (common == limit) return last;
  const auto byte = static_cast<uint8_t>(last[common]);
  if (byte == 0xff || byte + 1 >= static_cast<uint8_t>(next[common])) return last;
  std::string separator = last.substr(0, common + 1);
  separator[common] = static_cast<char>(byte + 1);
  return separator;
}

// A short key at or after `last`.
std::string Successor(const std::string& last) {
  for (size_t i = 0; i < last.size(); ++i) {
    const auto byte = static_cast<uint8_t>(last[i]);
    if (byte == 0xff) continue;
    std::string successor = last.substr(0, i + 1);
    successor[i] = static_cast<char>(byte + 1);
    return successor;
  }
  return last;
}

}  // namespace

Result<std::string> TableWriter::WriteBlock(const std::string& block) {
  std::string trailer(1, '\0');
  const uint32_t crc = ExtendCrc32c(Crc32c(block), trailer);
  AppendFixed32(trailer, MaskCrc32c(crc));
  std::string handle = HandleBytes(offset_, block.size());
  RETURN_IF_ERROR(file_.Append(block));
  RETURN_IF_ERROR(file_.Append(trailer));
  offset_ += block.size() + trailer.size();
  return handle;
}

Status TableWriter::FlushBlock() {
  if (data_.empty()) return OkStatus();
  ASSIGN_OR_RETURN(pending_handle_, WriteBlock(data_.Finish()));
  return OkStatus();
}

Status TableWriter::Add(std::string_view key, std::string_view value) {
  if (started_ && key <= last_key_) {
    return InvalidArgument("table keys must rise: '", key, "' after '", last_key_, "'");
  }
  if (!pending_handle_.empty()) {
    index_.Add(Separator(last_key_, key), pending_handle_);
    pending_handle_.clear();
  }
  data_.Add(key, value);
  last_key_.assign(key);
  started_ = true;
  return data_.size() >= kBlockBytes ? FlushBlock() : OkStatus();
}

Status TableWriter::Finish() {
  RETURN_IF_ERROR(FlushBlock());
  ASSIGN_OR_RETURN(std::string footer,
                   WriteBlock(TableBlockBuilder(16).Finish()));  // no meta blocks
  if (!pending_handle_.empty()) index_.Add(Successor(last_key_), pending_handle_);
  ASSIGN_OR_RETURN(const std::string index, WriteBlock(index_.Finish()));
  footer += index;
  footer.resize(kTableFooterBytes - 8, '\0');
  AppendFixed64(footer, kMagic);
  return file_.Append(footer);
}

bool ReadTableBlockHandle(WireReader& reader, TableBlockHandle* handle) {
  return reader.ReadVarint(&handle->offset) && reader.ReadVarint(&handle->size);
}

Result<TableFooter> ReadTableFooter(const RandomAccessFile& file, const std::string& path) {
  ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  if (size < kTableFooterBytes) {
    return DataLoss(path, ": ", size, " bytes are too few for a table");
  }
  char bytes[kTableFooterBytes];
  RETURN_IF_ERROR(
      ReadExactly(file, size - kTableFooterBytes, bytes, kTableFooterBytes).WithContext(path));
  if (LoadFixed64(bytes + kTableFooterBytes - 8) != kMagic) {
    return DataLoss("not an sstable (bad magic number): ", path,
                    " does not end with the 8 bytes of a table");
  }
  TableFooter footer;
  WireReader handles(std::string_view(bytes, kTableFooterBytes - 8));
  if (!ReadTableBlockHandle(handles, &footer.meta) ||
      !ReadTableBlockHandle(handles, &footer.index)) {
    return DataLoss(path, ": damaged footer");
  }
  return footer;
}

Result<StoredTableBlock> ReadStoredTableBlock(const RandomAccessFile& file, const std::string& path,
                                              const TableBlockHandle& handle) {
  ASSIGN_OR_RETURN(const uint64_t file_size, file.Size());
  if (handle.offset > file_size || handle.size > file_size - handle.offset ||
      file_size - handle.offset - handle.size < kTableTrailerBytes) {
    return DataLoss(path, ": a block of ", handle.size, " bytes at ", handle.offset,
                    " lies outside the file of ", file_size, " bytes");
  }
  StoredTableBlock block;
  std::string& bytes = block.bytes;
  bytes.resize(handle.size + kTableTrailerBytes);
  RETURN_IF_ERROR(ReadExactly(file, handle.offset, bytes.data(), bytes.size()).WithContext(path));
  block.compression = static_cast<uint8_t>(bytes[handle.size]);
  block.expected_crc = UnmaskCrc32c(LoadFixed32(bytes.data() + handle.size + 1));
  block.found_crc = Crc32c(std::string_view(bytes).substr(0, handle.size + 1));
  bytes.resize(handle.size);
  return block;
}

Result<std::string> TableReader::ReadBlock(const TableBlockHandle& handle) const {
  ASSIGN_OR_RETURN(StoredTableBlock block, ReadStoredTableBlock(*file_, path_, handle));
  if (block.expected_crc != block.found_crc) {
    return DataLoss(path_, ": the block at byte ", handle.offset, " does not match its checksum");
  }
  if (block.compression != 0) {
    return Unimplemented(path_, ": the block at byte ", handle.offset, " is compressed (type ",
                         block.compression, ")");
  }
  return std::move(block.bytes);
}

Result<TableReader> TableReader::Open(const RandomAccessFile& file, std::string path) {
  TableReader table(file, std::move(path));
  ASSIGN_OR_RETURN(const TableFooter footer, ReadTableFooter(file, table.path_));
  // The meta block says nothing, but damage to it is damage.
  RETURN_IF_ERROR(table.ReadBlock(footer.meta).status());
  ASSIGN_OR_RETURN(const std::string index_block, table.ReadBlock(footer.index));
  ASSIGN_OR_RETURN(TableBlockReader blocks, TableBlockReader::Open(index_block));
  while (blocks.Next()) {
    WireReader reader(blocks.value());
    Block block{.last_key = blocks.key()};
    if (!ReadTableBlockHandle(reader, &block.handle)) {
      return DataLoss(table.path_, ": damaged index");
    }
    table.blocks_.push_back(std::move(block));
  }
  RETURN_IF_ERROR(blocks.status().WithContext(table.path_));
  return table;
}

Result<std::optional<std::string>> TableReader::Find(std::string_view key) const {
  const auto at = std::ranges::lower_bound(
      blocks_, key, {}, [](const Block& block) { return std::string_view(block.last_key); });
  if (at == blocks_.end()) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const std::string block, ReadBlock(at->handle));
  ASSIGN_OR_RETURN(TableBlockReader rows, TableBlockReader::Open(block));
  while (rows.Next()) {
    if (rows.key() == key) return std::optional<std::string>(rows.value());
  }
  RETURN_IF_ERROR(rows.status().WithContext(path_));
  return std::optional<std::string>();
}

Result<TableEntries> TableReader::All() const {
  TableEntries entries;
  for (const Block& at : blocks_) {
    ASSIGN_OR_RETURN(const std::string block, ReadBlock(at.handle));
    ASSIGN_OR_RETURN(TableBlockReader rows, TableBlockReader::Open(block));
    while (rows.Next()) {
      // Also keeps an index that names a block many times from filling the memory.
      if (!entries.empty() && rows.key() <= entries.back().first) {
        return DataLoss(path_, ": the keys in the block at byte ", at.handle.offset,
                        " do not rise");
      }
      entries.emplace_back(rows.key(), rows.value());
    }
    RETURN_IF_ERROR(rows.status().WithContext(path_));
  }
  return entries;
}

Result<TableEntries> ReadTable(const RandomAccessFile& file, const std::string& path) {
  ASSIGN_OR_RETURN(const TableReader table, TableReader::Open(file, path));
  return table.All();
}

}  // namespace thalweg
