// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/cache_directory.h"

#include <cstdlib>

#include "thalweg/base/status.h"

namespace thalweg {

std::string CacheDirectory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return StrCat(cache, "/thalweg");
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? StrCat(home, "/.cache/thalweg") : "";
}

}  // namespace thalweg
