// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/wire_reader.h"

#include <array>
#include <bit>

namespace thalweg {

static_assert(std::endian::native == std::endian::little,
              "fixed-width values are copied as they are");

bool WireReader::ReadLongVarint(uint64_t* value) {
  uint64_t result = 0;
  const char* p = next_;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p == end_) return false;
    const uint64_t byte = static_cast<uint8_t>(*p++);
    if (shift < 64) result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      next_ = p;
      *value = result;
      return true;
    }
  }
  return false;
}

bool WireReader::Skip(uint32_t tag) {
  const char* start = next_;
  uint32_t open[kMaxWireDepth];  // numbers of the groups around the next value
  int depth = 0;
  bool ok = true;
  do {
    switch (WireTypeOf(tag)) {
      case WireType::kVarint: {
        uint64_t value;
        ok = ReadVarint(&value);
        break;
      }
      case WireType::kFixed64:
        ok = remaining() >= 8;
        if (ok) next_ += 8;
        break;
      case WireType::kLengthDelimited: {
        std::string_view bytes;
        ok = ReadBytes(&bytes);
        break;
      }
      case WireType::kStartGroup:
        ok = depth < kMaxWireDepth;
        if (ok) open[depth++] = WireFieldNumber(tag);
        break;
      case WireType::kEndGroup:
        ok = depth > 0 && open[--depth] == WireFieldNumber(tag);
        break;
      case WireType::kFixed32:
        ok = remaining() >= 4;
        if (ok) next_ += 4;
        break;
      default:
        ok = false;
    }
    if (ok && depth > 0) ok = ReadTag(&tag);
  } while (ok && depth > 0);
  if (!ok) next_ = start;
  return ok;
}

void AppendVarint(std::string& out, uint64_t value) {
  std::array<char, 10> bytes;
  size_t size = 0;
  while (value >= 0x80) {
    bytes[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[size++] = static_cast<char>(value);
  out.append(bytes.data(), size);
}

void AppendTag(std::string& out, uint32_t number, WireType type) {
  AppendVarint(out, WireTag(number, type));
}

void AppendFixed32(std::string& out, uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendFixed64(std::string& out, uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendBytes(std::string& out, std::string_view bytes) {
  AppendVarint(out, bytes.size());
  out.append(bytes);
}

}  // namespace thalweg
