// SPDX-License-Identifier: Apache-2.0
// ReadEvents: the events of one event file, walked once without message trees: the values of
// summaries, one by one, and what else there is.
//
//   EventProblem problem;
//   RETURN_IF_ERROR(ReadEvents(fs, path, progress, &problem, [&](const EventValue& value) {
//     if (value.kind == EventKind::kScalar) Use(std::string(value.tag));
//   }));
//
// A file that still grows ends within a record: what is before counts.
// Ownership: an EventValue's views are valid during the call.
// Threads: one.
// Errors: the file system's and `progress`'s. Damage is the problem's, and what is before it
// counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/files/progress.h"

namespace thalweg {

enum class EventKind : uint8_t {
  kScalar,
  kImage,
  kHistogram,
  kAudio,
  kTensor,  // also of plugins; `plugin` says which, where it is known
  kGraph,
  kMetaGraph,
  kRunMetadata,
  kSession,
  kLog,
};
std::string_view EventKindName(EventKind kind);

struct EventValue {
  double wall_time = 0;
  int64_t step = 0;
  EventKind kind = EventKind::kTensor;
  std::string_view tag;     // empty: none
  std::string_view plugin;  // of the metadata, which may come with the first value of a tag only
  double scalar = 0;        // of a tensor only where `plugin` is "scalars"
  std::string_view tensor;  // a TensorProto
};

// The number in a tensor that a scalar's summary holds; false where it is none.
bool ScalarOfTensor(std::string_view tensor, double* scalar);

struct EventProblem {
  std::string message;      // empty: none
  bool is_growing = false;  // the last record is not whole yet, or the disk was full
};

Status ReadEvents(FileSystem& fs, const std::string& path, Progress& progress,
                  EventProblem* problem, const std::function<void(const EventValue&)>& visit);

// Event files below a folder, however deep, or the file itself: run ("." for those of the folder
// itself) and path, by run, those of a run by name, which has the time in it.
struct EventFile {
  std::string run;
  std::string path;
  uint64_t bytes = 0;
};
Result<std::vector<EventFile>> FindEventFiles(FileSystem& fs, const std::string& path);

}  // namespace thalweg
