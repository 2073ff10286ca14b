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

struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

bool ReadHandle(WireReader& reader, BlockHandle* handle) {
  return reader.ReadVarint(&handle->offset) && reader.ReadVarint(&handle->size);
}

Result<std::string> ReadBlock(const RandomAccessFile& file, const BlockHandle& handle,
                              uint64_t file_size, const std::string& path) {
  if (handle.offset > file_size || handle.size > file_size - handle.offset ||
      file_size - handle.offset - handle.size < kTrailerBytes) {
    return DataLoss(path, ": a block of ", handle.size, " bytes at ", handle.offset,
                    " lies outside the file of ", file_size, " bytes");
  }
  std::string bytes(handle.size + kTrailerBytes, '\0');
  RETURN_IF_ERROR(ReadExactly(file, handle.offset, bytes.data(), bytes.size()).WithContext(path));
  const uint32_t stored = LoadFixed32(bytes.data() + handle.size + 1);
  if (UnmaskCrc32c(stored) != Crc32c(std::string_view(bytes).substr(0, handle.size + 1))) {
    return DataLoss(path, ": the block at byte ", handle.offset, " does not match its checksum");
  }
  if (bytes[handle.size] != 0) {
    return Unimplemented(path, ": the block at byte ", handle.offset, " is compressed (type ",
                         static_cast<int>(bytes[handle.size]), ")");
  }
  bytes.resize(handle.size);
  return bytes;
}

}  // namespace

Result<std::string> TableWriter::WriteBlock(const std::string& block) {
  std::string trailer(1, '\0');
  const uint32_t crc = ExtendCrc32c(Crc32c(block), trailer);
  AppendFixed32(trailer, MaskCrc32c(crc));
  const std::string handle = HandleBytes(offset_, block.size());
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

Result<TableEntries> ReadTable(const RandomAccessFile& file, const std::string& path) {
  ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  if (size < kFooterBytes) return DataLoss(path, ": ", size, " bytes are too few for a table");
  char footer[kFooterBytes];
  RETURN_IF_ERROR(ReadExactly(file, size - kFooterBytes, footer, kFooterBytes).WithContext(path));
  if (LoadFixed64(footer + kFooterBytes - 8) != kMagic) {
    return DataLoss(path, " is no table: its last 8 bytes are not the magic number");
  }
  WireReader handles(std::string_view(footer, kFooterBytes - 8));
  BlockHandle meta, index;
  if (!ReadHandle(handles, &meta) || !ReadHandle(handles, &index))
    return DataLoss(path, ": damaged footer");
  ASSIGN_OR_RETURN(const std::string index_block, ReadBlock(file, index, size, path));
  ASSIGN_OR_RETURN(TableBlockReader blocks, TableBlockReader::Open(index_block));
  TableEntries entries;
  while (blocks.Next()) {
    WireReader reader(blocks.value());
    BlockHandle handle;
    if (!ReadHandle(reader, &handle)) return DataLoss(path, ": damaged index");
    ASSIGN_OR_RETURN(const std::string block, ReadBlock(file, handle, size, path));
    ASSIGN_OR_RETURN(TableBlockReader rows, TableBlockReader::Open(block));
    while (rows.Next()) {
      // Also keeps an index that names a block many times from filling the memory.
      if (!entries.empty() && rows.key() <= entries.back().first) {
        return DataLoss(path, ": the keys in the block at byte ", handle.offset, " do not rise");
      }
      entries.emplace_back(rows.key(), rows.value());
    }
    RETURN_IF_ERROR(rows.status().WithContext(path));
  }
  RETURN_IF_ERROR(blocks.status().WithContext(path));
  return entries;
}

}  // namespace thalweg
