// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/new_event_file.h"

#include <unistd.h>

#include <array>
#include <atomic>

#include "thalweg/base/clock.h"
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
std::string FileName(int64_t micros) {
  static std::atomic<int64_t> count{0};
  std::string digits = StrCat(micros / 1000000);
  if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
  return StrCat("events.out.tfevents.", digits, ".", HostName(), ".", getpid(), ".", count++);
}

}  // namespace

Result<std::unique_ptr<WritableFile>> NewEventFile(FileSystem& fs, const std::string& directory,
                                                   const std::string& suffix) {
  const int64_t micros = SystemClock().WallMicros();
  RETURN_IF_ERROR(fs.MakeDirectories(directory));
  // Should a host of the same name have taken the name, too, nothing of its events is lost.
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                   fs.OpenForAppending(StrCat(directory, "/", FileName(micros), suffix)));
  OwnedMessage first(pb::Event::Descriptor());
  first->SetDouble(pb::Event::kWallTime, static_cast<double>(micros) / 1e6);
  first->SetString(pb::Event::kFileVersion, "brain.Event:2");
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(*first));
  RETURN_IF_ERROR(file->AppendWhole(FrameRecord(bytes)));
  return file;
}

}  // namespace thalweg
