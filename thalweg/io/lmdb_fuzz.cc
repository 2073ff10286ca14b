// SPDX-License-Identifier: Apache-2.0
// Fuzzer of LMDB databases: an input is a file. It ends, in pairs that the file can hold or an
// error that comes again.
#include "thalweg/base/check.h"
#include "thalweg/io/lmdb_file.h"
#include "thalweg/io/test_memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  MemoryFileSystem fs([bytes](const std::string&) { return bytes; });
  auto file = LmdbFile::Open(fs, "file");
  if (!file.ok()) return 0;
  const auto room = [](uint64_t) { return OkStatus(); };
  for (size_t n = 0; n <= size; ++n) {
    const auto pair = file->Next(room);
    if (!pair.ok()) {
      CHECK(file->Next(room).status().code() == pair.status().code());
      return 0;
    }
    if (!*pair) return 0;
    CHECK((*pair)->key.size() + (*pair)->value.size() <= size);
  }
  CHECK(false);
}
