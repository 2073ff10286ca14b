// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/hello.h"

#include <cstring>

#include "thalweg/base/entropy.h"

namespace thalweg {
namespace {

constexpr uint64_t kField = 77'301;  // beyond all that TensorFlow's messages have
constexpr uint64_t kBytes = 2;       // the wire type
constexpr uint8_t kVersion = 1;
constexpr size_t kMostTask = 256;
constexpr size_t kFixed = 1 + 8 + 8 + 8;

void PutVarint(uint64_t value, std::string* out) {
  for (; value >= 128; value >>= 7) out->push_back(static_cast<char>(value | 128));
  out->push_back(static_cast<char>(value));
}

bool GetVarint(std::string_view* in, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !in->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    *value |= uint64_t{byte & 127U} << shift;
    if (byte < 128) return true;
  }
  return false;
}

// Steps over the value of an unknown field; its bytes if it has any.
bool GetValue(uint64_t wire_type, std::string_view* in, std::string_view* value) {
  uint64_t size = 0;
  switch (wire_type) {
    case 0:
      return GetVarint(in, &size);
    case 1:
      size = 8;
      break;
    case kBytes:
      if (!GetVarint(in, &size)) return false;
      break;
    case 5:
      size = 4;
      break;
    default:
      return false;
  }
  if (size > in->size()) return false;
  *value = in->substr(0, size);
  in->remove_prefix(size);
  return true;
}

Result<Hello> Decode(std::string_view bytes) {
  if (bytes.size() < kFixed || bytes.size() > kFixed + kMostTask) {
    return InvalidArgument("a hello has ", kFixed, " to ", kFixed + kMostTask, " bytes, got ",
                           bytes.size());
  }
  if (bytes[0] != kVersion) {
    return InvalidArgument("a hello of version ", static_cast<int>(bytes[0]), ", this is ",
                           static_cast<int>(kVersion));
  }
  Hello hello;
  std::memcpy(&hello.process, bytes.data() + 1, 8);
  std::memcpy(&hello.incarnation, bytes.data() + 9, 8);
  std::memcpy(&hello.token, bytes.data() + 17, 8);
  hello.task = bytes.substr(kFixed);
  return hello;
}

}  // namespace

uint64_t ThisProcess() {
  static const uint64_t number = RandomSeed();
  return number;
}

std::string EncodeHello(const Hello& hello) {
  std::string bytes(1, static_cast<char>(kVersion));
  bytes.append(reinterpret_cast<const char*>(&hello.process), 8);
  bytes.append(reinterpret_cast<const char*>(&hello.incarnation), 8);
  bytes.append(reinterpret_cast<const char*>(&hello.token), 8);
  bytes += hello.task.substr(0, kMostTask);
  std::string field;
  PutVarint(kField << 3 | kBytes, &field);
  PutVarint(bytes.size(), &field);
  return field + bytes;
}

Result<Hello> FindHello(std::string_view fields) {
  while (!fields.empty()) {
    uint64_t tag = 0;
    std::string_view value;
    if (!GetVarint(&fields, &tag) || !GetValue(tag & 7, &fields, &value)) {
      return InvalidArgument("the fields of a hello cannot be read");
    }
    if (tag == (kField << 3 | kBytes)) return Decode(value);
  }
  return NotFound("there is no hello");
}

}  // namespace thalweg
