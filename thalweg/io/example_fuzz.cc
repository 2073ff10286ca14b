// SPDX-License-Identifier: Apache-2.0
// Fuzzer of Example and SequenceExample messages: an input is one. What was counted must be what is
// read, into memory of exactly that size.
#include <algorithm>
#include <memory>

#include "thalweg/base/check.h"
#include "thalweg/io/example_wire.h"

namespace thalweg {
namespace {

void ReadOne(std::string_view feature) {
  EncodedList list;
  if (!ReadFeature(feature, &list)) return;
  const int64_t n = CountValues(list);
  if (n < 0) return;
  CHECK(n <= static_cast<int64_t>(feature.size()));
  if (list.kind == FeatureKind::kFloat) {
    const auto values = std::make_unique<float[]>(static_cast<size_t>(n));
    CHECK(ReadValues(list, values.get()));
  } else if (list.kind == FeatureKind::kInt64) {
    const auto values = std::make_unique<int64_t[]>(static_cast<size_t>(n));
    ReadValues(list, values.get());
  } else if (list.kind == FeatureKind::kBytes) {
    BytesReader reader(list);
    std::string_view value;
    int64_t found = 0;
    while (reader.Next(&value)) ++found;
    CHECK(found == n);
  }
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thalweg;
  // A copy of its own, so that a byte beyond it is seen.
  const auto bytes = std::make_unique<char[]>(size);
  std::copy_n(data, size, bytes.get());
  const std::string_view example(bytes.get(), size);
  static const FeatureKeys keys({"a", "b", "s", "a", "a/longer/key"});
  std::string_view found[5];
  if (FindFeatures(example, keys, found)) {
    for (const std::string_view feature : found) ReadOne(feature);
  }
  std::string_view lists[5];
  if (!FindFeatures(example, keys, lists, kFeatureListsField)) return 0;
  for (const std::string_view list : lists) {
    FeatureListReader reader(list);
    std::string_view feature;
    while (reader.Next(&feature)) ReadOne(feature);
  }
  return 0;
}
