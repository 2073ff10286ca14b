// SPDX-License-Identifier: Apache-2.0
// CsvFileFields: the fields of a CSV file, one after the other.
//
//   CsvFileFields fields(std::move(file), ',', true);
//   ASSIGN_OR_RETURN(const bool last, fields.Next(&text, &problem));   // of its record
//
// Threads: one.
// Errors: the file system's. What is wrong with the text is a `problem` of the record, whose fields
// go on all the same.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "thalweg/data/block_file.h"

namespace thalweg {

class CsvFileFields {
 public:
  CsvFileFields(BlockFile file, char delimiter, bool quotes)
      : file_(std::move(file)), delimiter_(delimiter), quotes_(quotes) {}

  // Between records: whether there is no more.
  Result<bool> AtEnd();
  // The next field. `text` may be null. True: it is the last of its record.
  Result<bool> Next(std::string* text, Status* problem);

  // Between records: a place to come back to.
  uint64_t offset() const { return file_.offset(); }
  void Seek(uint64_t offset) { file_.Seek(offset); }

 private:
  // The next character, or -1 at the end.
  Result<int> Peek();
  // Takes all before the first of these characters, or all that is read already.
  void TakeUntil(std::string_view any, std::string* text);
  Result<bool> Quoted(std::string* text, Status* problem);
  // Takes what ends a field, if that comes next: `last`, whether it ends the record too.
  Result<bool> IsFieldEnd(bool* last);

  BlockFile file_;
  const char delimiter_;
  const bool quotes_;
};

}  // namespace thalweg
