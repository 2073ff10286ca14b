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
#include <string_view>
#include <vector>

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

// The step of the files, and its stalls, the first `limit` of them.
void ShowTraceHead(const std::vector<std::string>& files, size_t limit);
// A file that appears whole; with a line that says so; the page of these traces as such a file.
void KeepFile(const std::string& name, std::string_view bytes, bool force);
void WriteText(const std::string& name, const std::string& text, bool force);
// A RunMetadata message as a file of that name holds it: as a .trace compact.
std::string RecordingFor(const std::string& name, std::string_view metadata);
void WritePage(const std::vector<std::string>& files, const std::string& name, bool force);

void AddTraceCompare(CLI::App& trace);
void AddTraceConvert(CLI::App& trace);
void AddTraceMemory(CLI::App& trace);
void AddTraceRecord(CLI::App& trace);

}  // namespace cli
