// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/table.h"

#include <algorithm>

#include "thalweg/base/crc32c.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57ull;
constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;

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
  footer.resize(kFooterBytes - 8, '\0');
  AppendFixed64(footer, kMagic);
  return file_.Append(footer);
}

Result<std::string> TableReader::ReadBlock(const Block& block) const {
  if (block.offset > file_size_ || block.size > file_size_ - block.offset ||
      file_size_ - block.offset - block.size < kTrailerBytes) {
    return DataLoss(path_, ": a block of ", block.size, " bytes at ", block.offset,
                    " lies outside the file of ", file_size_, " bytes");
  }
  std::string bytes(block.size + kTrailerBytes, '\0');
  RETURN_IF_ERROR(ReadExactly(*file_, block.offset, bytes.data(), bytes.size()).WithContext(path_));
  const uint32_t stored = LoadFixed32(bytes.data() + block.size + 1);
  if (UnmaskCrc32c(stored) != Crc32c(std::string_view(bytes).substr(0, block.size + 1))) {
    return DataLoss(path_, ": the block at byte ", block.offset, " does not match its checksum");
  }
  if (bytes[block.size] != 0) {
    return Unimplemented(path_, ": the block at byte ", block.offset, " is compressed (type ",
                         static_cast<int>(bytes[block.size]), ")");
  }
  bytes.resize(block.size);
  return bytes;
}

Result<TableReader> TableReader::Open(const RandomAccessFile& file, std::string path) {
  TableReader table(file, std::move(path));
  ASSIGN_OR_RETURN(table.file_size_, file.Size());
  const uint64_t size = table.file_size_;
  if (size < kFooterBytes)
    return DataLoss(table.path_, ": ", size, " bytes are too few for a table");
  char footer[kFooterBytes];
  RETURN_IF_ERROR(
      ReadExactly(file, size - kFooterBytes, footer, kFooterBytes).WithContext(table.path_));
  if (LoadFixed64(footer + kFooterBytes - 8) != kMagic) {
    return DataLoss(table.path_, " is no table: its last 8 bytes are not the magic number");
  }
  const auto read_handle = [](WireReader& reader, Block* block) {
    return reader.ReadVarint(&block->offset) && reader.ReadVarint(&block->size);
  };
  WireReader handles(std::string_view(footer, kFooterBytes - 8));
  Block meta, index;
  if (!read_handle(handles, &meta) || !read_handle(handles, &index))
    return DataLoss(table.path_, ": damaged footer");
  RETURN_IF_ERROR(table.ReadBlock(meta).status());  // says nothing, but damage to it is damage
  ASSIGN_OR_RETURN(const std::string index_block, table.ReadBlock(index));
  ASSIGN_OR_RETURN(TableBlockReader blocks, TableBlockReader::Open(index_block));
  while (blocks.Next()) {
    WireReader reader(blocks.value());
    Block block{.last_key = blocks.key()};
    if (!read_handle(reader, &block)) return DataLoss(table.path_, ": damaged index");
    table.blocks_.push_back(std::move(block));
  }
  RETURN_IF_ERROR(blocks.status().WithContext(table.path_));
  return table;
}

Result<std::optional<std::string>> TableReader::Find(std::string_view key) const {
  const auto at = std::ranges::lower_bound(
      blocks_, key, {}, [](const Block& block) { return std::string_view(block.last_key); });
  if (at == blocks_.end()) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const std::string block, ReadBlock(*at));
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
    ASSIGN_OR_RETURN(const std::string block, ReadBlock(at));
    ASSIGN_OR_RETURN(TableBlockReader rows, TableBlockReader::Open(block));
    while (rows.Next()) {
      // Also keeps an index that names a block many times from filling the memory.
      if (!entries.empty() && rows.key() <= entries.back().first) {
        return DataLoss(path_, ": the keys in the block at byte ", at.offset, " do not rise");
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
