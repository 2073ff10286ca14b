// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/summary/event_writer.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>

#include "thalweg/io/record_framing.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

// A name that nobody else in this process or beside it takes.
std::string FileName(const std::string& suffix) {
  static std::atomic<int64_t> count{0};
  const int64_t seconds = SystemClock().WallMicros() / 1000000;
  std::string digits = StrCat(seconds);
  if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
  return StrCat("events.out.tfevents.", digits, ".", HostName(), ".", getpid(), ".", count++,
                suffix.starts_with('.') || suffix.empty() ? "" : ".", suffix);
}

}  // namespace

Result<RefPtr<EventWriter>> EventWriter::Make(const std::string& directory,
                                              const Options& options) {
  PosixFileSystem files;
  RETURN_IF_ERROR(files.MakeDirectories(directory));
  ASSIGN_OR_RETURN(auto file, files.OpenForWriting(directory + "/" + FileName(options.suffix)));
  auto writer =
      RefPtr<EventWriter>::Adopt(std::make_unique<EventWriter>(std::move(file), options).release());
  OwnedMessage first(pb::Event::Descriptor());
  first->SetString(pb::Event::kFileVersion, "brain.Event:2");
  RETURN_IF_ERROR(writer->Write(*first));
  RETURN_IF_ERROR(writer->Flush());
  return writer;
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
