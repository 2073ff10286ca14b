// SPDX-License-Identifier: Apache-2.0
// SourceLine: where in the sources something was called, for messages about two such places.
//
//   void Add(std::string_view name, SourceLine where = SourceLine::Here());
//   problem = StrCat(name, " was added in ", where);  // "a was added in thalweg/base/log.cc:12"
//
// Ownership: the text of `file` outlives it.
// Threads: any, as a value.
// Errors: none.
#pragma once

#include <string>

namespace thalweg {

struct SourceLine {
  const char* file = nullptr;  // null: nobody said
  int line = 0;                // 0: the whole file

  static constexpr SourceLine Here(const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
    return {file, line};
  }
  // The path begins in the project where it lies there.
  std::string ToString() const;
};

}  // namespace thalweg
