// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/hello.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "thalweg/base/entropy.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

constexpr uint32_t kField = 77'301;  // beyond all that TensorFlow's messages have
// Ahead of it, too: tasks of before it was there step over it.
constexpr uint32_t kFeaturesField = 77'303;
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
  AddWireNumber(kFeaturesField, hello.features, &fields);
  for (const auto& [number, words] : hello.offers) AddWireText(number, words, &fields);
  AddWireText(kField, bytes, &fields);
  return fields;
}

Result<Hello> FindHello(std::string_view bytes) {
  Hello around;  // what stands ahead of the hello proper
  WireFields fields(bytes);
  for (WireField field; fields.Next(&field) && !fields.is_cut();) {
    if (field.number == kFeaturesField && field.type == WireType::kVarint) {
      around.features = field.value;
    }
    if (!IsText(field)) continue;
    if (field.number == kField) {
      ASSIGN_OR_RETURN(Hello hello, Decode(field.bytes));
      hello.offers = std::move(around.offers);
      hello.features = around.features;
      return hello;
    }
    if (field.number < kFirstOfferField || field.number > kLastOfferField ||
        field.number == kFeaturesField) {
      continue;
    }
    if (field.bytes.size() > kMostOffer || around.offers.size() >= kMostOffers) {
      return InvalidArgument("an offer in a hello has ", field.bytes.size(),
                             " bytes, or is one of many");
    }
    around.offers[field.number] = field.bytes;
  }
  if (fields.is_cut()) return InvalidArgument("the fields of a hello cannot be read");
  return NotFound("there is no hello");
}

}  // namespace thalweg
