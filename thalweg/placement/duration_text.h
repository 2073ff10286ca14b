// SPDX-License-Identifier: Apache-2.0
// DurationText: seconds for people: "1.25 ms", "40 us", "0 s".
// Ownership: a value.
// Threads: any.
// Errors: none.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace thalweg {

inline std::string DurationText(double seconds) {
  std::array<char, 48> text;
  const char* unit = "s";
  if (seconds > 0 && seconds < 1e-3) {
    seconds *= 1e6;
    unit = "us";
  } else if (seconds > 0 && seconds < 1) {
    seconds *= 1e3;
    unit = "ms";
  }
  std::snprintf(text.data(), text.size(), "%.4g %s", seconds, unit);
  return text.data();
}

}  // namespace thalweg
