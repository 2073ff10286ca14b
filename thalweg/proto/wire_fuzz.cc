// SPDX-License-Identifier: Apache-2.0
// Fuzzer of the binary reader: the first byte picks the message type, the rest is the message. What
// it accepts must write and read back to an equal message.
#include "thalweg/base/check.h"
#include "thalweg/proto/fuzz_types.h"
#include "thalweg/proto/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  if (size == 0) return 0;
  const MessageDescriptor& type = FuzzedType(data[0]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Result<OwnedMessage> message = ParseMessage(type, bytes, {.max_memory = size_t{256} << 20});
  if (!message.ok()) {
    CHECK(!message.status().message().empty());
    return 0;
  }
  Result<std::string> written = Serialize(**message);
  CHECK(written.ok());
  CHECK(*SerializedSize(**message) == written->size());
  Result<OwnedMessage> again = ParseMessage(type, *written, {.borrow = true});
  CHECK(again.ok());
  CHECK((*again)->Equals(**message));
  return 0;
}
