// SPDX-License-Identifier: Apache-2.0
// What the verbs of `thalweg trace` share: words for what the library's JSON says, and the verbs
// that have files of their own.
//
//   std::puts(TimeWords(stall.at("lost_nanos")).c_str());
//
// Ownership: texts are the caller's.
// Threads: any; no state.
// Errors: WorkError, from the verbs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "file_work.h"

namespace cli {

inline std::string TimeWords(const Json& nanos) { return DurationText(nanos.get<double>() * 1e-9); }

inline std::string PercentText(double part, double whole) {
  char text[20];
  std::snprintf(text, sizeof(text), "%.0f %%", whole > 0 ? 100 * part / whole : 0);
  return text;
}

// Of a part of the critical path.
inline const char* KindWords(const std::string& kind) {
  if (kind == "node") return "nodes that run";
  if (kind == "input") return "waits for input";
  if (kind == "transfer") return "values on their way";
  if (kind == "queue") return "ready, without a thread";
  return "before the first node";
}

void AddTraceCompare(CLI::App& trace);
void AddTraceMemory(CLI::App& trace);

}  // namespace cli
