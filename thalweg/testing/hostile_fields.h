// SPDX-License-Identifier: Apache-2.0
// Every field of every message within a valid one, as costly as its bytes can make it: for tests of
// what N bytes may take.
//
//   ForEachHostileMessage(type, bytes, whole, [&](const MessageDescriptor& at,
//                                                 const HostileWrap& add) {
//     for (const FieldDescriptor& field : at.fields) {
//       for (const std::string& hostile : HostileFields(field)) Try(add(hostile));
//     }
//   });
//
// Ownership: values; `f` and `add` are used during the call.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "thalweg/testing/hostile_bytes.h"

namespace thalweg {

inline uint64_t HostileNumberAt(const std::string& bytes, size_t* at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[(*at)++]);
    value |= uint64_t{byte & 127u} << shift;
    if (byte < 128) return value;
  }
}

// What costs most of what a field can be: as many elements as there are bytes, each as small as
// it may be, or numbers that claim much.
inline std::vector<std::string> HostileFields(const FieldDescriptor& field) {
  std::vector<std::string> made;
  const std::string delimited = HostileTag(field.number, 2);
  made.push_back(HostileRun(delimited + '\0'));
  made.push_back(HostileRun(delimited + "\1x"));
  made.push_back(HostilePacked(field));
  for (const uint64_t number : {uint64_t{1}, uint64_t{1} << 20, uint64_t{1} << 31,
                                uint64_t{1} << 40, uint64_t{1} << 62, ~uint64_t{0}}) {
    std::string one = HostileTag(field.number, 0);
    AppendHostileVarint(one, number);
    made.push_back(one);
    if (number == 1) made.push_back(HostileRun(one));
  }
  if (field.map) made.push_back(HostileEntries(field));
  return made;
}

// Puts a changed message into the whole that it is a part of.
using HostileWrap = std::function<std::string(const std::string&)>;

// f(type, add) for every message in `bytes`: add(more) gives the whole with `more` behind the
// message's own bytes.
inline void ForEachHostileMessage(
    const MessageDescriptor& type, const std::string& bytes, const HostileWrap& wrap,
    const std::function<void(const MessageDescriptor&, const HostileWrap&)>& f) {
  f(type, [&](const std::string& more) { return wrap(bytes + more); });
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = at;
    const uint64_t tag = HostileNumberAt(bytes, &at);
    const std::string before = bytes.substr(0, at);
    if (tag % 8 == 0) HostileNumberAt(bytes, &at);
    if (tag % 8 == 1) at += 8;
    if (tag % 8 == 5) at += 4;
    if (tag % 8 != 2) continue;
    const uint64_t size = HostileNumberAt(bytes, &at);
    const std::string inner = bytes.substr(at, size);
    at += size;
    ASSERT_GT(at, begin);
    const FieldDescriptor* const field = type.FindByNumber(static_cast<uint32_t>(tag / 8));
    ASSERT_NE(field, nullptr);
    if (field->type != FieldType::kMessage) continue;
    const std::string after = bytes.substr(at);
    const HostileWrap outer = [&](const std::string& changed) {
      std::string whole = before;
      AppendHostileVarint(whole, changed.size());
      return wrap(whole + changed + after);
    };
    ForEachHostileMessage(*field->message, inner, outer, f);
  }
}

}  // namespace thalweg
