// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/table_audit.h"

#include <optional>

#include "thalweg/io/table.h"

namespace thalweg {
namespace {

class TableAuditor {
 public:
  TableAuditor(const RandomAccessFile& file, const std::string& path, Audit& audit,
               const TableEntryFn& visit)
      : file_(file), path_(path), audit_(audit), visit_(visit) {}

  void Run() {
    const Result<TableFooter> footer = ReadTableFooter(file_, path_);
    if (!footer.ok()) {
      Tell(std::nullopt, std::string(footer.status().message()));
      return;
    }
    audit_.bytes += kTableFooterBytes;
    Read(footer->meta, "the meta block");
    const std::optional<std::string> index = Read(footer->index, "the index block");
    if (!index) return;
    const Result<TableBlockReader> opened = TableBlockReader::Open(*index);
    if (!opened.ok()) {
      Tell(footer->index.offset, std::string(opened.status().message()));
      return;
    }
    TableBlockReader rows = *opened;
    for (uint64_t number = 0; rows.Next(); ++number) {
      WireReader reader(rows.value());
      TableBlockHandle handle;
      if (!ReadTableBlockHandle(reader, &handle)) {
        Tell(footer->index.offset, StrCat("the index block: where block ", number, " lies"));
        continue;
      }
      if (handle.offset < next_block_) {
        Tell(footer->index.offset,
             StrCat("the index block: block ", number, " lies over the one before it"));
        return;  // also keeps an index that names a block many times from taking long
      }
      next_block_ = handle.offset + handle.size;
      VisitBlock(handle, StrCat("block ", number));
    }
    if (!rows.status().ok()) {
      Tell(footer->index.offset, StrCat("the index block: ", rows.status().message()));
    }
  }

 private:
  void Tell(std::optional<uint64_t> offset, std::string what) {
    audit_.Add({path_, offset, std::move(what), "", ""});
  }

  // Its bytes, where they are what was written.
  std::optional<std::string> Read(const TableBlockHandle& handle, const std::string& what) {
    Result<StoredTableBlock> block = ReadStoredTableBlock(file_, path_, handle);
    if (!block.ok()) {
      Tell(handle.offset, StrCat(what, ": ", block.status().message()));
      return std::nullopt;
    }
    audit_.bytes += handle.size + kTableTrailerBytes;
    audit_.CheckCrc(path_, handle.offset, what, block->expected_crc, block->found_crc);
    if (block->expected_crc != block->found_crc) return std::nullopt;
    if (block->compression != 0) {
      audit_.Add({path_, handle.offset, what + " is compressed, which is not read here", "type 0",
                  StrCat("type ", block->compression)});
      return std::nullopt;
    }
    return std::move(block->bytes);
  }

  void VisitBlock(const TableBlockHandle& handle, const std::string& what) {
    const std::optional<std::string> bytes = Read(handle, what);
    if (!bytes) return;
    const Result<TableBlockReader> opened = TableBlockReader::Open(*bytes);
    if (!opened.ok()) {
      Tell(handle.offset, StrCat(what, ": ", opened.status().message()));
      return;
    }
    TableBlockReader rows = *opened;
    while (rows.Next()) {
      if (last_key_ && rows.key() <= *last_key_) {
        Tell(handle.offset, what + ": the keys do not rise");
        return;
      }
      last_key_ = rows.key();
      visit_(rows.key(), rows.value(), handle.offset);
    }
    if (!rows.status().ok()) Tell(handle.offset, StrCat(what, ": ", rows.status().message()));
  }

  const RandomAccessFile& file_;
  const std::string& path_;
  Audit& audit_;
  const TableEntryFn& visit_;
  uint64_t next_block_ = 0;
  std::optional<std::string> last_key_;
};

}  // namespace

Status AuditTable(FileSystem& fs, const std::string& path, Audit& audit,
                  const TableEntryFn& visit) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  audit.files.push_back(path);
  TableAuditor(*file, path, audit, visit).Run();
  return OkStatus();
}

}  // namespace thalweg
