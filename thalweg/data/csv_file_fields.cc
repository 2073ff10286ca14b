// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/csv_file_fields.h"

#include <algorithm>

namespace thalweg {
namespace {

void Keep(Status* problem, const char* text) {
  if (problem->ok()) *problem = InvalidArgument(text);
}

}  // namespace

Result<int> CsvFileFields::Peek() {
  std::string_view ahead = file_.Ready();
  if (ahead.empty()) {
    ASSIGN_OR_RETURN(ahead, file_.Ahead(1));
  }
  return ahead.empty() ? -1 : static_cast<unsigned char>(ahead[0]);
}

Result<bool> CsvFileFields::AtEnd() {
  ASSIGN_OR_RETURN(const int next, Peek());
  return next < 0;
}

Status CsvFileFields::TakeUntil(std::string_view any, const MakeRoom& make_room,
                                std::string* text) {
  const std::string_view ahead = file_.Ready();
  const size_t n = std::min(ahead.find_first_of(any), ahead.size());
  if (n == ahead.size()) {
    const size_t had = text == nullptr ? 0 : text->size();
    const Status room = make_room(had + n + file_.block_bytes());
    if (!room.ok()) {
      return room.WithContext(StrCat(file_.path(), ": field at byte ", file_.offset()));
    }
  }
  if (text != nullptr) text->append(ahead.substr(0, n));
  file_.Take(n);
  return OkStatus();
}

Result<bool> CsvFileFields::IsFieldEnd(bool* last) {
  ASSIGN_OR_RETURN(const int next, Peek());
  *last = next != static_cast<unsigned char>(delimiter_);
  if (next < 0) return true;
  if (*last && next != '\n' && next != '\r') return false;
  file_.Take(1);
  if (!*last || next == '\n') return true;
  ASSIGN_OR_RETURN(const int after, Peek());
  if (after == '\n') file_.Take(1);
  return true;
}

Result<bool> CsvFileFields::Next(const MakeRoom& make_room, std::string* text, Status* problem) {
  if (text != nullptr) text->clear();
  ASSIGN_OR_RETURN(const int first, Peek());
  if (quotes_ && first == '"') return Quoted(make_room, text, problem);
  const char stops[] = {delimiter_, '\n', '\r', '"'};
  const std::string_view any(stops, quotes_ ? 4 : 3);
  while (true) {
    bool last = false;
    ASSIGN_OR_RETURN(const bool ends, IsFieldEnd(&last));
    if (ends) return last;
    if (quotes_ && file_.Ready()[0] == '"') {
      Keep(problem, "Unquoted fields cannot have quotes inside");
      file_.Take(1);
    }
    RETURN_IF_ERROR(TakeUntil(any, make_room, text));
  }
}

Result<bool> CsvFileFields::Quoted(const MakeRoom& make_room, std::string* text, Status* problem) {
  file_.Take(1);
  bool bare = false;  // there was a quote inside that nothing follows
  while (true) {
    ASSIGN_OR_RETURN(const int next, Peek());
    if (next < 0) {
      Keep(problem, "Reached end of file without closing quoted field in record");
      return true;
    }
    if (next != '"') {
      RETURN_IF_ERROR(TakeUntil("\"", make_room, text));
      continue;
    }
    file_.Take(1);
    bool last = false;
    ASSIGN_OR_RETURN(const bool ends, IsFieldEnd(&last));
    if (ends) {
      if (bare) Keep(problem, "Quote inside a string has to be escaped by another quote");
      return last;
    }
    if (file_.Ready()[0] == '"') {
      if (text != nullptr) text->push_back('"');
      file_.Take(1);
    } else {
      bare = true;
    }
  }
}

}  // namespace thalweg
