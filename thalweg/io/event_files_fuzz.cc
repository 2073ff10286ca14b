// SPDX-License-Identifier: Apache-2.0
// Fuzzer of event files, and so of TFRecord files: the first byte says file (even), the rest is
// one; or records (odd, test_framed_records.h). An event that is read must be written and read
// again to an equal one.
#include "thalweg/base/check.h"
#include "thalweg/io/file_parts.h"
#include "thalweg/io/test_framed_records.h"
#include "thalweg/io/test_memory_files.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

void ReadEvent(std::string_view bytes) {
  const Result<OwnedMessage> event =
      ParseMessage(pb::Event::Descriptor(), bytes, {.max_memory = size_t{256} << 20});
  if (!event.ok()) {
    CHECK(!event.status().message().empty());
    return;
  }
  const Result<std::string> written = Serialize(**event);
  CHECK(written.ok());
  const Result<OwnedMessage> again =
      ParseMessage(pb::Event::Descriptor(), std::string_view(*written));
  CHECK(again.ok());
  CHECK((*again)->Equals(**event));
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool framed = data[0] % 2 == 1;
  const std::vector<std::string> records = framed ? RecordsOf(rest) : std::vector<std::string>();
  const std::string file = framed ? FramedFile(records) : std::string(rest);
  MemoryFileSystem fs([&](const std::string&) { return std::string_view(file); });
  Result<BlockFile> events = BlockFile::Open(fs, "events");
  CHECK(events.ok());
  size_t found = 0, bytes = 0;
  while (true) {
    const Result<std::optional<std::string_view>> record = NextRecord(*events);
    CHECK(record.ok() || record.status().code() == Code::kDataLoss);
    if (!record.ok() || !*record) {
      CHECK(!framed || (record.ok() && found == records.size()));
      return 0;
    }
    CHECK(!framed || **record == records[found]);
    bytes += (*record)->size() + kRecordHeaderBytes + kRecordFooterBytes;
    CHECK(bytes <= file.size());
    ++found;
    ReadEvent(**record);
  }
}
