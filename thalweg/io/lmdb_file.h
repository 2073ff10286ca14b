// SPDX-License-Identifier: Apache-2.0
// LmdbFile: the pairs of a key and a value in an LMDB database, in the order of their keys.
//
//   ASSIGN_OR_RETURN(LmdbFile file, LmdbFile::Open(fs, "train.mdb"));  // or its folder
//   ASSIGN_OR_RETURN(auto pair, file.Next(make_room));                 // nothing at the end
//
// Read with bounds checked at every step, which LMDB's own library, that maps a file and believes
// it, does not do. What is read is the newest whole state of the unnamed database when the file was
// opened; who writes meanwhile may take its pages, which is seen as damage.
// Ownership: the file system outlives the file.
// Threads: one.
// Errors: the file system's; DataLoss with the file and the page that is not as it should be;
// Unimplemented for several values to a key and for named databases inside. All name the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/inflate.h"

namespace thalweg {

class LmdbFile {
 public:
  struct Pair {
    std::string key;
    std::string value;
  };

  static Result<LmdbFile> Open(FileSystem& fs, std::string path);

  const std::string& path() const { return path_; }
  // `make_room` is asked for the bytes of a value before they are taken.
  Result<std::optional<Pair>> Next(const MakeRoom& make_room);

 private:
  // A page of the way from the root to the pair that comes next.
  struct Page {
    uint64_t number;
    std::string bytes;
    size_t entries;
    size_t next = 0;  // of its entries
  };

  LmdbFile(std::string path, std::unique_ptr<RandomAccessFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status ReadNewestState();
  Status Enter(uint64_t page);
  Result<std::string_view> EntryThatComes() const;
  Result<Pair> PairOf(std::string_view entry, const MakeRoom& make_room) const;
  Result<std::string> ReadFromPages(uint64_t first, uint64_t bytes,
                                    const MakeRoom& make_room) const;
  Status Damaged(uint64_t page, std::string_view what) const;

  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t page_bytes_ = 0;
  uint64_t pages_ = 0;       // that the file has
  uint64_t pages_read_ = 0;  // of the tree; more than there are would be a circle
  uint64_t root_ = 0;
  size_t depth_ = 0;
  uint64_t entries_ = 0;  // that the database says it has
  uint64_t entries_read_ = 0;
  std::vector<Page> way_;
};

}  // namespace thalweg
