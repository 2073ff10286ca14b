// SPDX-License-Identifier: Apache-2.0
// Fuzzer of event files, and so of TFRecord files: the first byte says file (even), the rest is
// one; or records (odd), each a byte of its length and its bytes, framed with right checksums. An
// event that is read must be written and read again to an equal one.
#include "thalweg/base/check.h"
#include "thalweg/io/file_parts.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/io/test_memory_files.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

std::string FramedFile(std::string_view rest, std::vector<std::string>* records) {
  std::string file;
  while (!rest.empty()) {
    const size_t length = std::min<size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 1);
    records->emplace_back(rest.substr(1, length));
    file += FrameRecord(records->back());
    rest.remove_prefix(1 + length);
  }
  return file;
}

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
  std::vector<std::string> records;
  const std::string file = framed ? FramedFile(rest, &records) : std::string(rest);
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
