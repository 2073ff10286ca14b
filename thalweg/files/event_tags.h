// SPDX-License-Identifier: Apache-2.0
// EventTags: what event files hold, by run and tag: kinds, numbers of values, steps; the scalars.
//
//   ASSIGN_OR_RETURN(EventTags tags,
//                    ReadEventTags(fs, "/logs", {.scalars = true, .tag = "loss*"}));
//   Use(EventTagsJson(tags));
//
// Values stand in the order of the files, as `summary_iterator` gives them; none is left out after
// a restart. A tensor with the metadata of scalars, as 2.x writes them, is a scalar.
// Memory: what a tag needs, and 24 bytes for each scalar that is asked for.
// Ownership: the tags are the caller's; no file stays open.
// Threads: any.
// Errors: NotFound without event files; the file system's. Damage is listed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/event_file.h"
#include "thalweg/files/progress.h"

namespace thalweg {

struct EventTagsOptions {
  bool scalars = false;  // their values, and nothing of other kinds
  std::string run, tag;  // patterns, in which * stands for any letters; empty: all
  ProgressFn progress;
};

struct ScalarPoint {
  int64_t step = 0;
  double wall_time = 0;
  double value = 0;
};

struct EventTag {
  EventKind kind = EventKind::kTensor;
  std::string plugin;
  uint64_t count = 0;
  int64_t min_step = 0, max_step = 0;
  double first_time = 0, last_time = 0;
  double last = 0;  // of scalars
  std::vector<ScalarPoint> points;
};

struct EventTags {
  // By run, then by tag; what has no tag is called by its kind, in brackets: "[graph]".
  std::map<std::string, std::map<std::string, EventTag, std::less<>>> runs;
  std::vector<std::string> files;
  std::vector<EventProblem> problems;
  uint64_t bytes = 0;
};

Result<EventTags> ReadEventTags(FileSystem& fs, const std::string& path,
                                const EventTagsOptions& options = {});
std::string EventTagsJson(const EventTags& tags);

}  // namespace thalweg
