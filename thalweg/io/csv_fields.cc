// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/csv_fields.h"

namespace thalweg {

bool CsvFields::Fail(const char* what) {
  status_ = InvalidArgument(what, ", at byte ", at_);
  return false;
}

bool CsvFields::Next(std::string_view* field) {
  if (at_end_ || !status_.ok()) return false;
  const bool quoted = form_.has_quotes && at_ < line_.size() && line_[at_] == '"';
  return quoted ? NextQuoted(field) : NextPlain(field);
}

bool CsvFields::NextPlain(std::string_view* field) {
  const size_t begin = at_;
  for (; at_ < line_.size() && line_[at_] != form_.delimiter; ++at_) {
    const char c = line_[at_];
    if (c == '\n' || c == '\r' || (c == '"' && form_.has_quotes)) {
      return Fail("Unquoted fields cannot have quotes/CRLFs inside");
    }
  }
  *field = line_.substr(begin, at_ - begin);
  at_end_ = at_ == line_.size();
  ++at_;
  return true;
}

bool CsvFields::NextQuoted(std::string_view* field) {
  unquoted_.clear();
  for (++at_;;) {
    const size_t quote = line_.find('"', at_);
    if (quote == std::string_view::npos) {
      return Fail("Quoted field has to end with quote followed by delim or end");
    }
    unquoted_.append(line_.substr(at_, quote - at_));
    at_ = quote + 1;
    if (at_ == line_.size() || line_[at_] == form_.delimiter) break;
    if (line_[at_] != '"') return Fail("Quote inside a string has to be escaped by another quote");
    unquoted_ += '"';
    ++at_;
  }
  *field = unquoted_;
  at_end_ = at_ == line_.size();
  ++at_;
  return true;
}

}  // namespace thalweg
