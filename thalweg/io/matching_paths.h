// SPDX-License-Identifier: Apache-2.0
// The paths that match a pattern, as the shell writes it: * and ? for letters other than '/', [a-c]
// and [!a-c] for one of them, \ before a letter that stands for itself.
//
//   PosixFileSystem fs;
//   ASSIGN_OR_RETURN(std::vector<std::string> shards, MatchingPaths(fs, "/data/train-*-of-08"));
//
// Sorted by name in each directory. A pattern with an unclosed '[' matches nothing.
// Ownership: values; the file system is used during the call.
// Threads: any.
// Errors: none; a directory that cannot be listed holds nothing that matches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"

namespace thalweg {

Result<std::vector<std::string>> MatchingPaths(FileSystem& fs, const std::string& pattern);

// One name against a pattern without '/'.
bool NameMatches(std::string_view name, std::string_view pattern);

}  // namespace thalweg
