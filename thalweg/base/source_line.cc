// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/source_line.h"

#include <string_view>

#include "thalweg/base/str_cat.h"

namespace thalweg {

std::string SourceLine::ToString() const {
  if (file == nullptr) return "an unknown place";
  std::string_view path = file;
  const size_t in_project = path.rfind("/thalweg/");
  if (line == 0) return std::string(path);
  if (in_project != std::string_view::npos) path.remove_prefix(in_project + 1);
  return StrCat(path, ":", line);
}

}  // namespace thalweg
