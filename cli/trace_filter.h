// SPDX-License-Identifier: Apache-2.0
// TraceFilterArgs: which part of a trace the verbs of `thalweg trace` look at.
//
//   CLI::App verb;
//   TraceFilterArgs filter;
//   AddTraceFilter(verb, &filter);
//   const std::string page = filter.Tell({"step.pb"}, TW_TRACE_PAGE);
//
// Ownership: the arguments outlive the parser's work.
// Threads: the main one.
// Errors: WorkError for files and for a filter that leaves nothing; the parser's for what a user
// typed wrong.
#pragma once

#include <thalweg/c_api.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cli {

struct TraceFilterArgs {
  std::vector<std::string> tasks, nodes;
  int64_t min_nanos = 0, min_bytes = 0, from_nanos = 0, to_nanos = 0;

  // What the library tells of what is left of these files. `step`: -1 for the one that the form
  // chooses.
  std::string Tell(const std::vector<std::string>& files, TwTraceForm form,
                   int64_t step = -1) const;
};

void AddTraceFilter(CLI::App& verb, TraceFilterArgs* args);

}  // namespace cli
