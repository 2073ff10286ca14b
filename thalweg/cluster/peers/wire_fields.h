// SPDX-License-Identifier: Apache-2.0
// Fields of our own, in the encoding of messages, that ride in messages of TensorFlow's.
//
//   AddWireText(2, name, &bytes);
//   const bool whole = VisitWireFields(bytes, [&](uint32_t field, uint64_t number,
//                                                 std::string_view text) { ... });
//
// Ownership: appends to the caller's bytes; the text that `visit` gets points into them.
// Threads: any.
// Errors: none; false for malformed bytes, of which some fields may have been visited.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/proto/wire_reader.h"

namespace thalweg {

// Nothing for 0, which a reader takes an absent number for.
inline void AddWireNumber(uint32_t field, uint64_t value, std::string* out) {
  if (value == 0) return;
  AppendTag(*out, field, WireType::kVarint);
  AppendVarint(*out, value);
}
inline void AddWireText(uint32_t field, std::string_view text, std::string* out) {
  AppendTag(*out, field, WireType::kLengthDelimited);
  AppendBytes(*out, text);
}

// Calls visit(field, number, text) for each field; false when the bytes are malformed.
template <class F>
bool VisitWireFields(std::string_view bytes, F&& visit) {
  WireReader reader(bytes);
  uint32_t tag = 0;
  while (reader.ReadTag(&tag)) {
    uint64_t number = 0;
    std::string_view text;
    if (WireTypeOf(tag) == WireType::kVarint) {
      if (!reader.ReadVarint(&number)) return false;
    } else if (WireTypeOf(tag) == WireType::kLengthDelimited) {
      if (!reader.ReadBytes(&text)) return false;
    } else if (reader.Skip(tag)) {
      continue;
    } else {
      return false;
    }
    visit(WireFieldNumber(tag), number, text);
  }
  return reader.AtEnd();
}

}  // namespace thalweg
