// SPDX-License-Identifier: Apache-2.0
// Fuzzer of what looks into record and event files: the first byte says file, compressed or not
// (even), the rest is one; or records (odd, test_framed_records.h). What the audit calls whole must
// be read, record by record; each reader sees as many.
#include "thalweg/base/check.h"
#include "thalweg/files/event_tags.h"
#include "thalweg/files/record_audit.h"
#include "thalweg/files/record_files.h"
#include "thalweg/files/record_statistics.h"
#include "thalweg/files/record_text.h"
#include "thalweg/io/test_framed_records.h"
#include "thalweg/io/test_memory_files.h"

namespace thalweg {
namespace {

void Look(std::string_view record, RecordStatistics& statistics) {
  statistics.Add(record);
  CHECK(RecordOutline(record).size() <= 100 * (record.size() + 1));
  for (const std::string_view type : {"", "tensorflow.Event", "tensorflow.Example"}) {
    for (const auto form : {RecordJson, RecordText}) {
      const Result<std::string> text = form(record, type);
      CHECK(text.ok() || !text.status().message().empty());
    }
  }
}

// How many records there are; nothing where they end with an error.
std::optional<uint64_t> ReadAll(FileSystem& fs) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 24;
  RecordFiles files(fs, {"f"}, kMostBytes);
  RecordStatistics statistics;
  for (uint64_t n = 0;; ++n) {
    const Result<std::optional<std::string_view>> record = files.Next();
    CHECK(record.ok() || !record.status().message().empty());
    if (!record.ok() || !*record) {
      CHECK(!statistics.Json().empty());
      return record.ok() ? std::optional(n) : std::nullopt;
    }
    // Texts of many compressed records would take long.
    constexpr uint64_t kMostLooks = 100;
    if (n < kMostLooks && (*record)->size() < kMostBytes / 256) Look(**record, statistics);
  }
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool is_framed = data[0] % 2 == 1;
  const std::string file = is_framed ? FramedFile(RecordsOf(rest)) : std::string(rest);
  const auto bytes = [&](const std::string&) { return std::string_view(file); };
  MemoryFileSystem fs(bytes);
  const Result<Audit> audit = AuditRecords(fs, {"f"});
  if (!audit.ok()) {  // no zlib
    CHECK(audit.status().code() == Code::kUnimplemented);
    return 0;
  }
  CHECK(!AuditJson(*audit).empty());
  const std::optional<uint64_t> read = ReadAll(fs);
  CHECK(!is_framed || audit->num_damages == 0);
  CHECK((audit->num_damages == 0) == read.has_value());
  CHECK(!read || *read == audit->records);
  const Result<EventTags> tags = ReadEventTags(fs, "f");
  CHECK(tags.ok() && !EventTagsJson(*tags).empty());
  return 0;
}
