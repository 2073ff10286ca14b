// SPDX-License-Identifier: Apache-2.0
// Fuzzer of the text reader: the first byte picks the message type, the rest is the text. What it
// accepts must print and read back to an equal message (but for the payloads of NaNs, which text
// does not have), and print the same again.
#include "thalweg/base/check.h"
#include "thalweg/proto/fuzz_types.h"
#include "thalweg/proto/text_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size == 0) return 0;
  const MessageDescriptor& type = FuzzedType(data[0]);
  Result<OwnedMessage> message =
      ParseText(type, std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (!message.ok()) {
    CHECK(!message.status().message().empty());
    return 0;
  }
  Result<std::string> printed = PrintText(**message);
  CHECK(printed.ok());
  Result<OwnedMessage> again = ParseText(type, *printed);
  CHECK(again.ok());
  Result<std::string> twice = PrintText(**again);
  CHECK(twice.ok() && *twice == *printed);
  CHECK((*again)->Equals(**message) || printed->find("nan") != std::string::npos);
  return 0;
}
