// SPDX-License-Identifier: Apache-2.0
// WireReader and the Append functions: the protobuf wire format one value at a time, for readers
// too hot for Message.
//
//   WireReader reader(bytes);
//   uint32_t tag;
//   while (reader.ReadTag(&tag)) {
//     if (WireFieldNumber(tag) == 3 && WireTypeOf(tag) == WireType::kVarint) {
//       if (!reader.ReadVarint(&size)) break;
//     } else if (!reader.Skip(tag)) {
//       break;
//     }
//   }
//   if (!reader.AtEnd()) return DataLoss("bad entry at byte ", reader.offset());
//
// Ownership: views point into the caller's bytes.
// Threads: one at a time.
// Errors: a read that fails gives false and leaves the reader where it was; nothing is read beyond
// the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "thalweg/proto/descriptor.h"

namespace thalweg {

enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

constexpr uint32_t WireTag(uint32_t number, WireType type) {
  return number << 3 | static_cast<uint32_t>(type);
}
constexpr uint32_t WireFieldNumber(uint32_t tag) { return tag >> 3; }
constexpr WireType WireTypeOf(uint32_t tag) { return static_cast<WireType>(tag & 7); }
// How a single value of the type is written.
constexpr WireType WireTypeOf(FieldType type) {
  switch (type) {
    case FieldType::kDouble:
    case FieldType::kFixed64:
    case FieldType::kSfixed64:
      return WireType::kFixed64;
    case FieldType::kFloat:
    case FieldType::kFixed32:
    case FieldType::kSfixed32:
      return WireType::kFixed32;
    case FieldType::kString:
    case FieldType::kBytes:
    case FieldType::kMessage:
      return WireType::kLengthDelimited;
    default:
      return WireType::kVarint;
  }
}
constexpr uint64_t ZigZagEncode(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t ZigZagDecode(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Groups inside groups that Skip follows.
inline constexpr int kMaxWireDepth = 100;

class WireReader {
 public:
  explicit WireReader(std::string_view bytes)
      : begin_(bytes.data()), next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool AtEnd() const { return next_ == end_; }
  size_t offset() const { return static_cast<size_t>(next_ - begin_); }
  size_t remaining() const { return static_cast<size_t>(end_ - next_); }
  const char* position() const { return next_; }

  // At most 10 bytes; bits beyond 64 are dropped.
  bool ReadVarint(uint64_t* value) {
    if (next_ != end_ && static_cast<uint8_t>(*next_) < 0x80) [[likely]] {
      *value = static_cast<uint8_t>(*next_++);
      return true;
    }
    return ReadLongVarint(value);
  }
  // False also at the end, for a field number of 0, and for a tag of more than 32 bits.
  bool ReadTag(uint32_t* tag) {
    const char* start = next_;
    uint64_t value;
    if (!ReadVarint(&value)) return false;
    if (value > UINT32_MAX || value < 8) {
      next_ = start;
      return false;
    }
    *tag = static_cast<uint32_t>(value);
    return true;
  }
  bool ReadFixed32(uint32_t* value) { return ReadFixed(value); }
  bool ReadFixed64(uint64_t* value) { return ReadFixed(value); }
  // Length and bytes.
  bool ReadBytes(std::string_view* bytes) {
    const char* start = next_;
    uint64_t size;
    if (!ReadVarint(&size)) return false;
    if (size > remaining()) {
      next_ = start;
      return false;
    }
    *bytes = std::string_view(next_, size);
    next_ += size;
    return true;
  }
  // The value that follows this tag; a group with all that is in it.
  bool Skip(uint32_t tag);

 private:
  bool ReadLongVarint(uint64_t* value);
  template <class T>
  bool ReadFixed(T* value) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(value, next_, sizeof(T));
    next_ += sizeof(T);
    return true;
  }

  const char* begin_;
  const char* next_;
  const char* end_;
};

void AppendVarint(std::string& out, uint64_t value);
void AppendTag(std::string& out, uint32_t number, WireType type);
void AppendFixed32(std::string& out, uint32_t value);
void AppendFixed64(std::string& out, uint64_t value);
// Length and bytes.
void AppendBytes(std::string& out, std::string_view bytes);

}  // namespace thalweg
