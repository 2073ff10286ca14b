// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/table_audit.h"

#include <optional>

#include "thalweg/io/table.h"

namespace thalweg {
namespace {

class TableAuditor {
 public:
  TableAuditor(const RandomAccessFile& file, const std::string& path, Audit& audit,
               Progress& progress, const TableEntryFn& visit)
      : file_(file), path_(path), audit_(audit), progress_(progress), visit_(visit) {}

  Status Run() {
    ASSIGN_OR_RETURN(const uint64_t size, file_.Size());
    const Result<TableFooter> footer = ReadTableFooter(file_, path_);
    if (!footer.ok()) {
      Tell(std::nullopt, std::string(footer.status().message()));
      return OkStatus();
    }
    audit_.bytes += kTableFooterBytes;
    RETURN_IF_ERROR(Read(footer->meta, "the meta block").status());
    ASSIGN_OR_RETURN(const std::optional<std::string> index,
                     Read(footer->index, "the index block"));
    if (!index) return OkStatus();
    const Result<TableBlockReader> opened = TableBlockReader::Open(*index);
    if (!opened.ok()) {
      Tell(footer->index.offset, std::string(opened.status().message()));
      return OkStatus();
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
        return OkStatus();  // also keeps an index that names a block many times from taking long
      }
      // One that lies outside of the file is not read, and takes no place.
      if (handle.offset <= size && handle.size <= size - handle.offset) {
        next_block_ = handle.offset + handle.size;
      }
      RETURN_IF_ERROR(VisitBlock(handle, StrCat("block ", number)));
    }
    if (!rows.status().ok()) {
      Tell(footer->index.offset, StrCat("the index block: ", rows.status().message()));
    }
    return OkStatus();
  }

 private:
  void Tell(std::optional<uint64_t> offset, std::string what) {
    audit_.Add({path_, offset, std::move(what), "", ""});
  }

  // Its bytes, where they are what was written.
  Result<std::optional<std::string>> Read(const TableBlockHandle& handle, const std::string& what) {
    Result<StoredTableBlock> block = ReadStoredTableBlock(file_, path_, handle);
    if (!block.ok()) {
      Tell(handle.offset, StrCat(what, ": ", block.status().message()));
      return std::optional<std::string>();
    }
    audit_.bytes += handle.size + kTableTrailerBytes;
    RETURN_IF_ERROR(progress_.Add(handle.size + kTableTrailerBytes));
    audit_.CheckCrc(path_, handle.offset, what, block->expected_crc, block->found_crc);
    if (block->expected_crc != block->found_crc) return std::optional<std::string>();
    if (block->compression != 0) {
      return Unimplemented(path_, ": ", what, ", at byte ", handle.offset, ", is compressed (type ",
                           block->compression, "), which is not read here");
    }
    return std::optional<std::string>(std::move(block->bytes));
  }

  Status VisitBlock(const TableBlockHandle& handle, const std::string& what) {
    ASSIGN_OR_RETURN(const std::optional<std::string> bytes, Read(handle, what));
    if (!bytes) return OkStatus();
    const Result<TableBlockReader> opened = TableBlockReader::Open(*bytes);
    if (!opened.ok()) {
      Tell(handle.offset, StrCat(what, ": ", opened.status().message()));
      return OkStatus();
    }
    TableBlockReader rows = *opened;
    while (rows.Next()) {
      if (last_key_ && rows.key() <= *last_key_) {
        Tell(handle.offset, what + ": the keys do not rise");
        return OkStatus();
      }
      last_key_ = rows.key();
      visit_(rows.key(), rows.value(), handle.offset);
    }
    if (!rows.status().ok()) Tell(handle.offset, StrCat(what, ": ", rows.status().message()));
    return OkStatus();
  }

  const RandomAccessFile& file_;
  const std::string& path_;
  Audit& audit_;
  Progress& progress_;
  const TableEntryFn& visit_;
  uint64_t next_block_ = 0;
  std::optional<std::string> last_key_;
};

}  // namespace

Status AuditTable(FileSystem& fs, const std::string& path, Audit& audit, Progress& progress,
                  const TableEntryFn& visit) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  audit.files.push_back(path);
  return TableAuditor(*file, path, audit, progress, visit).Run();
}

}  // namespace thalweg
