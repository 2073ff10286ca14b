// SPDX-License-Identifier: Apache-2.0
// CacheDirectory: where devices of the process keep what they have compiled, for the next one:
// $XDG_CACHE_HOME/thalweg, else ~/.cache/thalweg; empty, and nothing is kept, where neither is an
// absolute path.
//
//   options.cache_directory = CacheDirectory();
//
// Ownership: a value.
// Threads: any, while nobody sets variables.
// Errors: none.
#pragma once

#include <string>

namespace thalweg {

std::string CacheDirectory();

}  // namespace thalweg
