// SPDX-License-Identifier: Apache-2.0
// CsvFields: the fields of a line of comma-separated values (RFC 4180).
//
//   CsvFields fields("1,\"a \"\"b\"\"\"", {.delimiter = ','});
//   std::string_view field;
//   while (fields.Next(&field)) ...                    // 1, then a "b"
//   RETURN_IF_ERROR(fields.status());
//
// A field that begins with a quote goes to the next quote that is not doubled. A line that ends
// with a delimiter has an empty field after it; an empty line has no fields.
// Ownership: a field points into the line, or into the reader, until the next call.
// Threads: one.
// Errors: InvalidArgument with the place in the line.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

struct CsvForm {
  char delimiter = ',';
  bool has_quotes = true;
};

class CsvFields {
 public:
  CsvFields(std::string_view line, const CsvForm& form)
      : line_(line), form_(form), at_end_(line.empty()) {}
  // False after the last field, and for a line that is not as it should be.
  bool Next(std::string_view* field);
  const Status& status() const { return status_; }

 private:
  bool NextPlain(std::string_view* field);
  bool NextQuoted(std::string_view* field);
  bool Fail(const char* what);

  const std::string_view line_;
  const CsvForm form_;
  size_t at_ = 0;
  bool at_end_;
  std::string unquoted_;
  Status status_;
};

}  // namespace thalweg
