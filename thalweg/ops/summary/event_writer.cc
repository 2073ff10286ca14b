// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/summary/event_writer.h"

#include "thalweg/io/new_event_file.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
Result<RefPtr<EventWriter>> EventWriter::Make(const std::string& directory,
                                              const Options& options) {
  PosixFileSystem files;
  const bool has_dot = options.suffix.starts_with('.') || options.suffix.empty();
  ASSIGN_OR_RETURN(auto file,
                   NewEventFile(files, directory, (has_dot ? "" : ".") + options.suffix));
  return RefPtr<EventWriter>::Adopt(
      std::make_unique<EventWriter>(std::move(file), options).release());
}

EventWriter::EventWriter(std::unique_ptr<WritableFile> file, Options options)
    : options_(std::move(options)), file_(std::move(file)), written_(SystemClock().Now()) {}

EventWriter::~EventWriter() {
  MutexLock lock(mutex_);
  // Nobody is left to be told.
  static_cast<void>(WriteOut().ok() && file_->Close().ok());
}

Status EventWriter::Write(Message& event) {
  if (event.GetDouble(pb::Event::kWallTime) == 0) {
    event.SetDouble(pb::Event::kWallTime, static_cast<double>(SystemClock().WallMicros()) / 1e6);
  }
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(event));
  MutexLock lock(mutex_);
  waiting_ += FrameRecord(bytes);
  ++num_waiting_;
  const auto due = written_ + std::chrono::milliseconds(options_.flush_millis);
  if (num_waiting_ <= options_.max_queue && SystemClock().Now() < due) return OkStatus();
  return WriteOut();
}

Status EventWriter::Flush() {
  MutexLock lock(mutex_);
  return WriteOut();
}

Status EventWriter::WriteOut() {
  written_ = SystemClock().Now();
  if (waiting_.empty()) return OkStatus();
  const Status status = file_->AppendWhole(waiting_);
  if (!status.ok()) {
    return Status(status.code(), StrCat(status.message(), "; ", num_waiting_,
                                        " events wait until it can be written"));
  }
  waiting_.clear();
  num_waiting_ = 0;
  return OkStatus();
}

std::string EventWriter::DebugString() const { return "an event file"; }

}  // namespace thalweg
