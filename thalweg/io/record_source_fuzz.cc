// SPDX-License-Identifier: Apache-2.0
// Fuzzer of the readers of files: the first byte picks the source, the second a size of its form,
// the rest is the file. An error comes again, and no more comes out than the file can hold.
#include "thalweg/base/check.h"
#include "thalweg/io/record_source.h"
#include "thalweg/io/test_memory_files.h"

namespace thalweg {
namespace {

std::unique_ptr<RecordSource> SourceOf(FileSystem& fs, uint8_t which, int64_t number) {
  switch (which % 6) {
    case 0:
      return MakeLineSource(fs, {.skip_lines = number % 4});
    case 1:
      return MakePieceSource(fs, {number % 5, 1 + number % 7, number % 3, number / 16,
                                  number % 2 == 0 ? Compression::kNone : Compression::kZlib});
    case 2:
      return MakeRecordFileSource(fs);
    case 3:
      return MakeRecordFileSource(fs, Compression::kZlib);
    case 4:
      return MakeRecordFileSource(fs, Compression::kGzip);
    default:
      return MakeWholeFileSource(fs);
  }
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size < 2) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 2, size - 2);
  MemoryFileSystem fs([file](const std::string&) { return file; });
  const auto source = SourceOf(fs, data[0], data[1]);
  constexpr uint64_t kRoom = uint64_t{1} << 24;
  const auto room = [](uint64_t bytes) -> Status {
    return bytes <= kRoom ? OkStatus() : ResourceExhausted("no room for ", bytes, " bytes");
  };
  if (!source->Begin("file").ok()) return 0;
  // Compression gains at most a factor of 1032.
  const uint64_t most = (file.size() + 1) * 1100 + 16;
  for (uint64_t n = 0;; ++n) {
    CHECK(n <= most);
    const auto record = source->Next(room);
    if (!record.ok()) {
      CHECK(!record.status().message().empty());
      CHECK(source->Next(room).status().code() == record.status().code());
      return 0;
    }
    if (!*record || source->is_one_record()) return 0;
    CHECK((*record)->size() <= most);
  }
}
