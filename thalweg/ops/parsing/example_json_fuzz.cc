// SPDX-License-Identifier: Apache-2.0
// Fuzzer of the JSON form of Examples: what is read is a message again, and takes no more bytes
// than are charged for it.
#include <algorithm>
#include <memory>

#include "thalweg/base/check.h"
#include "thalweg/ops/parsing/example_json.h"
#include "thalweg/proto/wire_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  // A copy of its own, so that a byte beyond it is seen.
  const auto text = std::make_unique<char[]>(size);
  std::copy_n(data, size, text.get());
  const Result<std::string> example = ExampleFromJson({text.get(), size});
  if (!example.ok()) return 0;
  CHECK(example->size() <= 5 * size);
  WireReader reader(*example);
  uint32_t tag = 0;
  while (reader.ReadTag(&tag)) CHECK(reader.Skip(tag));
  CHECK(reader.AtEnd());
  return 0;
}
