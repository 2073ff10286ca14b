// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/matching_paths.h"

#include <algorithm>
#include <optional>

namespace thalweg {
namespace {

// Whether the set that begins behind '[' at the front of `pattern` has the letter; the pattern
// moves behind it. Nothing when it does not end.
std::optional<bool> TakeSet(std::string_view& pattern, char letter) {
  size_t i = 1;
  const bool inverted = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (inverted) ++i;
  bool found = false;
  for (const size_t first = i; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) {
      pattern.remove_prefix(i + 1);
      return found != inverted;
    }
    char low = pattern[i];
    if (low == '\\' && i + 1 < pattern.size()) low = pattern[++i];
    char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = pattern[i += 2];
    }
    found |= low <= letter && letter <= high;
  }
  return std::nullopt;
}

// Takes what stands for one letter from the front of a pattern that is not empty and no star.
bool TakeLetter(std::string_view& pattern, char letter) {
  if (pattern[0] == '[') {
    const std::optional<bool> found = TakeSet(pattern, letter);
    return found.has_value() && *found;
  }
  const bool any = pattern[0] == '?';
  if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  const bool same = any || pattern[0] == letter;
  pattern.remove_prefix(1);
  return same;
}

bool HasWildcard(std::string_view part) {
  return part.find_first_of("*?[\\") != std::string_view::npos;
}

}  // namespace

bool NameMatches(std::string_view name, std::string_view pattern) {
  // Where to go on when what comes after the last star does not fit.
  std::string_view after_star, name_there;
  bool star = false;
  while (true) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      star = true;
      after_star = pattern;
      name_there = name;
      continue;
    }
    if (name.empty() && pattern.empty()) return true;
    std::string_view rest = pattern;
    if (!name.empty() && !pattern.empty() && TakeLetter(rest, name[0])) {
      pattern = rest;
      name.remove_prefix(1);
      continue;
    }
    if (!star || name_there.empty()) return false;
    name_there.remove_prefix(1);
    name = name_there;
    pattern = after_star;
  }
}

Result<std::vector<std::string>> MatchingPaths(FileSystem& fs, const std::string& pattern) {
  if (pattern.empty()) return std::vector<std::string>{};
  // Prefixes that match so far; each part of the pattern makes them longer.
  std::vector<std::string> found = {pattern[0] == '/' ? "/" : ""};
  size_t begin = pattern.find_first_not_of('/');
  while (begin != std::string::npos && !found.empty()) {
    const size_t end = std::min(pattern.find('/', begin), pattern.size());
    const std::string part = pattern.substr(begin, end - begin);
    begin = pattern.find_first_not_of('/', end);
    const bool last = begin == std::string::npos;
    std::vector<std::string> longer;
    for (const std::string& prefix : found) {
      if (!HasWildcard(part)) {
        const std::string path = prefix + part;
        if (fs.Stat(path).ok()) longer.push_back(last ? path : path + "/");
        continue;
      }
      const auto names = fs.List(prefix.empty() ? "." : prefix);
      if (!names.ok()) continue;
      for (const std::string& name : *names) {
        if (!NameMatches(name, part)) continue;
        longer.push_back(last ? prefix + name : prefix + name + "/");
      }
    }
    found = std::move(longer);
  }
  return found;
}

}  // namespace thalweg
