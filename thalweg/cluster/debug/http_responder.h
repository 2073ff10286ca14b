// SPDX-License-Identifier: Apache-2.0
// HttpResponder: answers GET of one path with a text that is made anew each time: what a task shows
// to Prometheus. Nothing else of HTTP is there: a request has no body, a connection one request.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<HttpResponder> responder,
//                    HttpResponder::Start({.host = "127.0.0.1", .port = 0}, "/metrics",
//                                         [] { return std::string("up 1\n"); }));
//   Tell(responder->address());                                   // "127.0.0.1:40123"
//
// Ownership: ends its thread and closes all connections when it is destroyed.
// Threads: one of its own, on which `page` is made: it must not wait. AnswerHttp: any.
// Errors: Start: Unavailable for a host that is not found and where it cannot be listened at,
// ResourceExhausted without descriptors. What guests send wrongly is answered or cut off: at most
// 32 of them at once, the oldest goes for a new one; 8 KB and 10 seconds each.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/base/thread.h"
#include "thalweg/cluster/spec/cluster_spec.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

// What is answered to `request`: its lines, up to the empty one.
std::string AnswerHttp(std::string_view request, std::string_view path,
                       const std::function<std::string()>& page);

class HttpResponder {
  struct Token {};

 public:
  using Page = std::function<std::string()>;
  static constexpr size_t kMostGuests = 32;
  static constexpr size_t kMostBytes = 8192;  // of a request
  static constexpr std::chrono::seconds kPatience{10};

  // Port 0: a free one. `patience`: how long a guest may take.
  static Result<std::unique_ptr<HttpResponder>> Start(
      const HostPort& where, std::string path, Page page,
      std::chrono::nanoseconds patience = kPatience);
  HttpResponder(Token, UniqueFd listener, UniqueFd stop, std::string address, std::string path,
                Page page, std::chrono::nanoseconds patience);
  HttpResponder(const HttpResponder&) = delete;
  HttpResponder& operator=(const HttpResponder&) = delete;
  ~HttpResponder();

  const std::string& address() const { return address_; }

 private:
  class Guests;
  void Loop();

  const UniqueFd listener_;
  const UniqueFd stop_;
  const std::string address_;
  const std::string path_;
  const Page page_;
  const std::chrono::nanoseconds patience_;
  Thread thread_;
};

}  // namespace thalweg
