// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/hello.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "thalweg/base/entropy.h"

namespace thalweg {
namespace {

constexpr uint64_t kField = 77'301;  // beyond all that TensorFlow's messages have
// Ahead of it, too: tasks of before it was there step over it.
constexpr uint64_t kFeaturesField = 77'303;
constexpr uint64_t kVarint = 0;  // wire types
constexpr uint64_t kBytes = 2;
constexpr uint8_t kVersion = 3;
constexpr size_t kMostTask = 256;
constexpr size_t kMostHost = 64;                 // a numeric address has fewer
constexpr size_t kMostOffer = size_t{65} << 10;  // of another transport than TCP
constexpr size_t kMostOffers = 8;

// All numbers of a hello, as they lie in its bytes behind the version; the host and the task
// follow.
struct Numbers {
  uint64_t process = 0;
  uint64_t incarnation = 0;
  uint64_t token = 0;
  std::array<uint64_t, 2> secret{};
  uint32_t port = 0;
  uint32_t host_bytes = 0;
};
static_assert(sizeof(Numbers) == 48);
constexpr size_t kFixed = 1 + sizeof(Numbers);
constexpr size_t kMost = kFixed + kMostHost + kMostTask;

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

// The value of a field, be it known or not: its number, or its bytes.
bool GetValue(uint64_t wire_type, std::string_view* in, uint64_t* number, std::string_view* value) {
  uint64_t size = 0;
  switch (wire_type) {
    case kVarint:
      return GetVarint(in, number);
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
  if (bytes.size() < kFixed || bytes.size() > kMost) {
    return InvalidArgument("a hello has ", kFixed, " to ", kMost, " bytes, got ", bytes.size());
  }
  if (bytes[0] != kVersion) {
    return InvalidArgument("a hello of version ", static_cast<int>(bytes[0]), ", this is ",
                           static_cast<int>(kVersion));
  }
  Numbers numbers;
  std::memcpy(&numbers, bytes.data() + 1, sizeof numbers);
  const std::string_view texts = bytes.substr(kFixed);
  if (numbers.port > 65'535) return InvalidArgument("a hello names the port ", numbers.port);
  if (numbers.host_bytes > std::min(kMostHost, texts.size())) {
    return InvalidArgument("the host of a hello has ", numbers.host_bytes, " bytes of ",
                           texts.size());
  }
  return Hello{.task = std::string(texts.substr(numbers.host_bytes)),
               .process = numbers.process,
               .incarnation = numbers.incarnation,
               .token = numbers.token,
               .tcp = {.host = std::string(texts.substr(0, numbers.host_bytes)),
                       .port = static_cast<uint16_t>(numbers.port),
                       .secret = numbers.secret}};
}

void PutField(uint64_t number, std::string_view bytes, std::string* out) {
  PutVarint(number << 3 | kBytes, out);
  PutVarint(bytes.size(), out);
  *out += bytes;
}

}  // namespace

uint64_t ThisProcess() {
  static const uint64_t number = RandomSeed();
  return number;
}

std::string EncodeHello(const Hello& hello) {
  std::string bytes(1, static_cast<char>(kVersion));
  const std::string host = hello.tcp.host.substr(0, kMostHost);
  const Numbers numbers{.process = hello.process,
                        .incarnation = hello.incarnation,
                        .token = hello.token,
                        .secret = hello.tcp.secret,
                        .port = hello.tcp.port,
                        .host_bytes = static_cast<uint32_t>(host.size())};
  bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers);
  bytes += host;
  bytes += hello.task.substr(0, kMostTask);
  std::string fields;
  if (hello.features != 0) {
    PutVarint(kFeaturesField << 3 | kVarint, &fields);
    PutVarint(hello.features, &fields);
  }
  for (const auto& [number, words] : hello.offers) PutField(number, words, &fields);
  PutField(kField, bytes, &fields);
  return fields;
}

Result<Hello> FindHello(std::string_view fields) {
  Hello around;  // what stands ahead of the hello proper
  while (!fields.empty()) {
    uint64_t tag = 0;
    uint64_t number = 0;
    std::string_view value;
    if (!GetVarint(&fields, &tag) || !GetValue(tag & 7, &fields, &number, &value)) {
      return InvalidArgument("the fields of a hello cannot be read");
    }
    if (tag == (kFeaturesField << 3 | kVarint)) around.features = number;
    const uint64_t field = tag >> 3;
    const bool is_own = field == kField || field == kFeaturesField;
    if (!is_own && (tag & 7) == kBytes && field >= kFirstOfferField && field <= kLastOfferField) {
      if (value.size() > kMostOffer || around.offers.size() >= kMostOffers) {
        return InvalidArgument("an offer in a hello has ", value.size(),
                               " bytes, or is one of many");
      }
      around.offers[static_cast<uint32_t>(field)] = value;
    }
    if (tag != (kField << 3 | kBytes)) continue;
    ASSIGN_OR_RETURN(Hello hello, Decode(value));
    hello.offers = std::move(around.offers);
    hello.features = around.features;
    return hello;
  }
  return NotFound("there is no hello");
}

}  // namespace thalweg
