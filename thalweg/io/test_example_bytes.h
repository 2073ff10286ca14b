// SPDX-License-Identifier: Apache-2.0
// For tests: Example and SequenceExample messages as bytes.
//   const std::string example = ExampleBytes({{"a", Floats({1, 2})}, {"s", BytesList({"x"})}});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thalweg/proto/wire_fields.h"

namespace thalweg {

inline std::string Field(uint32_t number, std::string_view bytes) {
  std::string out;
  AddWireText(number, bytes, &out);
  return out;
}
// Features.
inline std::string Floats(const std::vector<float>& values) {
  std::string packed(values.size() * 4, '\0');
  if (!values.empty()) std::memcpy(packed.data(), values.data(), packed.size());
  return Field(2, values.empty() ? "" : Field(1, packed));
}
inline std::string Ints(const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) AppendVarint(packed, static_cast<uint64_t>(value));
  return Field(3, values.empty() ? "" : Field(1, packed));
}
inline std::string BytesList(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += Field(1, value);
  return Field(1, list);
}

using Entries = std::vector<std::pair<std::string, std::string>>;
inline std::string MapBytes(const Entries& entries) {
  std::string map;
  for (const auto& [key, value] : entries) map += Field(1, Field(1, key) + Field(2, value));
  return map;
}
inline std::string ExampleBytes(const Entries& features) { return Field(1, MapBytes(features)); }
inline std::string ListBytes(const std::vector<std::string>& features) {
  std::string list;
  for (const std::string& feature : features) list += Field(1, feature);
  return list;
}
inline std::string SequenceBytes(const Entries& context, const Entries& lists) {
  return Field(1, MapBytes(context)) + Field(2, MapBytes(lists));
}

}  // namespace thalweg
