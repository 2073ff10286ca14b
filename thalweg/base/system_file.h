// SPDX-License-Identifier: Apache-2.0
// SystemText, SystemNumber: what the small files say in which a system describes itself, below
// /proc and /sys.
//
//   const int64_t limit = SystemNumber("/sys/fs/cgroup/memory.max").value_or(0);  // "max": none
//
// Ownership: values.
// Threads: any.
// Errors: none; what cannot be read is empty.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace thalweg {

inline std::string SystemText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

// The number that the text begins with.
inline std::optional<int64_t> SystemNumber(const std::string& path) {
  std::istringstream text(SystemText(path));
  int64_t number = 0;
  return text >> number ? std::optional(number) : std::nullopt;
}

}  // namespace thalweg
