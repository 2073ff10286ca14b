// SPDX-License-Identifier: Apache-2.0
// EventWriter: an event file that several steps write to: records of serialized Event messages, as
// TensorBoard reads them.
//
//   ASSIGN_OR_RETURN(auto writer, EventWriter::Make("/logs", {.max_queue = 10}));
//   RETURN_IF_ERROR(writer->Write(event));       // wall_time is set when it has none
//
// The file (io/new_event_file.h) is made at once. Events wait until there are more than
// `max_queue`, `flush_millis` have passed since the last ones were written, or Flush. The last ones
// are written when the writer goes. Where the file cannot be written (a full disk, a file that was
// removed) they wait on, and the file ends with whole records.
// Ownership: shared by the container and who writes; owns its file and the events that wait.
// Threads: any; one lock, held while the file is written.
// Errors: those of the file, from Make, Write and Flush; what could not be written waits on.
#pragma once

#include <memory>
#include <string>

#include "thalweg/base/clock.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/mutex.h"
#include "thalweg/proto/message.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class EventWriter : public Resource {
 public:
  struct Options {
    int64_t max_queue = 10;
    int64_t flush_millis = 120000;
    std::string suffix;
  };
  static Result<RefPtr<EventWriter>> Make(const std::string& directory, const Options& options);
  EventWriter(std::unique_ptr<WritableFile> file, Options options);
  ~EventWriter() override;

  Status Write(Message& event);
  Status Flush();
  std::string DebugString() const override;

 private:
  Status WriteOut() REQUIRES(mutex_);

  const Options options_;
  Mutex mutex_;
  const std::unique_ptr<WritableFile> file_ PT_GUARDED_BY(mutex_);
  std::string waiting_ GUARDED_BY(mutex_);  // records
  int64_t num_waiting_ GUARDED_BY(mutex_) = 0;
  Clock::TimePoint written_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
