// SPDX-License-Identifier: Apache-2.0
// Hello: what a task that wants a channel says, and where the other one finds it; bytes that are
// added to a GetStatus message as a field that TensorFlow does not know.
//
//   bytes += EncodeHello({.task = self, .process = ThisProcess(), .token = token});
//   ASSIGN_OR_RETURN(const Hello hello, FindHello(message.unknown_fields()));
//
// Ownership: values.
// Threads: any.
// Errors: NotFound where there is none, InvalidArgument for a malformed one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/tcp_sockets.h"

namespace thalweg {

struct Hello {
  std::string task;          // who speaks
  uint64_t process = 0;      // a number of its process
  uint64_t incarnation = 0;  // of who speaks, as its steps are asked for
  // Under which the channel is offered; repeated by who has taken it, 0 of who could not.
  uint64_t token = 0;
  // Where the speaker waits for TCP connections; without a port: nowhere. Who has taken the channel
  // that way repeats it.
  TcpOffer tcp = {};
  // What it knows beyond the first version of the step protocol.
  uint64_t features = 0;
  // The words of other transports, by the number of their field (UcxTransport).
  std::map<uint32_t, std::string> offers = {};
  friend bool operator==(const Hello&, const Hello&) = default;
};

// Numbers of fields for the words of transports; 77'301 and 77'303 are the hello's own.
inline constexpr uint32_t kFirstOfferField = 77'302;
inline constexpr uint32_t kLastOfferField = 77'399;

// Its parts can tell of their run (TraceWish) instead of DONE; 1 was: ahead of DONE.
inline constexpr uint64_t kTracedSteps = 2;
// Also where they fail (TraceWish::failures).
inline constexpr uint64_t kTracedFailures = 4;
// It answers an EchoMessage.
inline constexpr uint64_t kEchoes = 8;
inline constexpr uint64_t kAllFeatures = kTracedSteps | kTracedFailures | kEchoes;

uint64_t ThisProcess();
std::string EncodeHello(const Hello& hello);
Result<Hello> FindHello(std::string_view unknown_fields);

}  // namespace thalweg
