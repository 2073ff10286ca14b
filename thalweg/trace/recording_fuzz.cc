// SPDX-License-Identifier: Apache-2.0
// Fuzzer of recordings: what is packed comes back as it was, whatever it is; what looks packed or
// plain is read or refused, and what unpacks has the size that it says.
#include "thalweg/base/check.h"
#include "thalweg/trace/packed_recording.h"
#include "thalweg/trace/recording_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  constexpr uint64_t kMost = uint64_t{1} << 20;  // what says that it is more takes longer
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string packed = PackRecording(bytes);
  const Result<PackedRecording> opened = PackedRecording::Open(packed);
  CHECK(opened.ok() && opened->size() == size);
  const Result<std::string> again = opened->Unpack();
  CHECK(again.ok() && *again == bytes);

  const Result<PackedRecording> given = PackedRecording::Open(bytes);
  if (given.ok() && given->size() > kMost) return 0;
  if (given.ok()) {
    const Result<std::string> unpacked = given->Unpack();
    CHECK(!unpacked.ok() || unpacked->size() == given->size());
  }
  Trace trace;
  StepStatsReader reader(&trace, true);
  const Status status = ReadRecording("file", bytes, &reader);
  CHECK(status.ok() || !status.message().empty());
  return 0;
}
