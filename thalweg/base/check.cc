// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace thalweg {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed: a bug in thalweg, please report it\n", file, line,
               condition);
  std::abort();
}

}  // namespace thalweg
