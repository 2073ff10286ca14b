// SPDX-License-Identifier: Apache-2.0
// CsvFileFields: the fields of a CSV file, one after the other.
//
//   CsvFileFields fields(std::move(file), ',', true);
//   ASSIGN_OR_RETURN(const bool last, fields.Next(make_room, &text, &problem));   // of its record
//
// Ownership: owns the file; a field's text is the caller's.
// Threads: one.
// Errors: the file's, and that of `make_room`, which a field asks that does not end in its block.
// What is wrong with the text is a `problem` of the record, whose fields go on all the same.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "thalweg/io/block_file.h"

namespace thalweg {

class CsvFileFields {
 public:
  CsvFileFields(BlockFile file, char delimiter, bool quotes)
      : file_(std::move(file)), delimiter_(delimiter), quotes_(quotes) {}

  // Between records: whether there is no more.
  Result<bool> AtEnd();
  // The next field. `text` may be null. True: it is the last of its record.
  Result<bool> Next(const MakeRoom& make_room, std::string* text, Status* problem);

  // Between records: a place to come back to.
  uint64_t offset() const { return file_.offset(); }
  Status Seek(uint64_t offset, const std::function<Status()>& go_on) {
    return file_.Seek(offset, go_on);
  }

 private:
  // The next character, or -1 at the end.
  Result<int> Peek();
  // Takes all before the first of these characters, or all that is read already.
  Status TakeUntil(std::string_view any, const MakeRoom& make_room, std::string* text);
  Result<bool> Quoted(const MakeRoom& make_room, std::string* text, Status* problem);
  // Takes what ends a field, if that comes next: `last`, whether it ends the record too.
  Result<bool> IsFieldEnd(bool* last);

  BlockFile file_;
  const char delimiter_;
  const bool quotes_;
};

}  // namespace thalweg
