// SPDX-License-Identifier: Apache-2.0
// RecordSource: the records of one piece of work after the other: the lines of a text file, pieces
// of a file of one length, those of a TFRecord file, the values of an LMDB database, a whole file,
// or the very text.
//
//   const auto source = MakeLineSource(fs, {.skip_lines = 1});
//   RETURN_IF_ERROR(source->Begin("a.csv"));
//   ASSIGN_OR_RETURN(auto record, source->Next(make_room));  // "1,2"; none at the end
//   const std::string key = source->Key();                   // "a.csv:2"
//
// Ownership: the file system outlives the source.
// Threads: one.
// Errors: the file system's with the path; DataLoss with file and offset for what is
// not as it should be. The same call then gives the same error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/inflate.h"

namespace thalweg {

class RecordSource {
 public:
  // Asked for the bytes of a value before they are taken.
  using RoomFn = MakeRoom;

  virtual ~RecordSource() = default;
  virtual Status Begin(const std::string& work) = 0;
  // Nothing at the end of the work.
  virtual Result<std::optional<std::string>> Next(const RoomFn& make_room) = 0;
  // Of the record that Next gave last, until Begin.
  virtual std::string Key() const = 0;
  // A piece of work is one record: what was done can be said with the names of the work alone.
  virtual bool is_one_record() const { return false; }
};

struct LineForm {
  int64_t skip_lines = 0;  // of each file
};
struct PieceForm {
  int64_t header_bytes = 0;
  int64_t record_bytes = 1;
  int64_t footer_bytes = 0;
  int64_t hop_bytes = 0;  // from one record to the next; 0: record_bytes
  Compression compression = Compression::kNone;
};
std::unique_ptr<RecordSource> MakeLineSource(FileSystem& fs, const LineForm& form);
std::unique_ptr<RecordSource> MakePieceSource(FileSystem& fs, const PieceForm& form);
std::unique_ptr<RecordSource> MakeRecordFileSource(FileSystem& fs,
                                                   Compression kind = Compression::kNone);
// Its keys are those of the database, without the file's name.
std::unique_ptr<RecordSource> MakeLmdbSource(FileSystem& fs);
std::unique_ptr<RecordSource> MakeWholeFileSource(FileSystem& fs);
std::unique_ptr<RecordSource> MakeIdentitySource();

}  // namespace thalweg
