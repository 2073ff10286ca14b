// SPDX-License-Identifier: Apache-2.0
// Connected TCP sockets between two tasks of ours that know each other by calls. Who asks opens a
// listener, a port of its own, for as long as it asks; who is asked connects twice, and both prove
// that they were told of the listener.
//
//   ASSIGN_OR_RETURN(TcpListener listener, TcpListener::Open("10.0.0.5", token));
//   listener.AttendUntil(answered);      // lets in whom a call has told offer() and `token`
//   ASSIGN_OR_RETURN(TcpSockets ours, listener.Take());
//   ASSIGN_OR_RETURN(TcpSockets theirs,  // the other task, before it answers that call
//                    ConnectByTcp(offer, token, std::chrono::seconds(1)));
//
// Who connects and does not know the secret is let go, and holds nobody up. A connection ends by
// itself when the other host has not been heard for 30 s.
// Ownership: a UniqueFd owns its socket; the port goes with the listener.
// Threads: one at a time.
// Errors: Unavailable where the other side does not come, cannot be reached or does not know what
// it must; InvalidArgument for a host that is no numeric address.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

// Where a task waits to be connected to.
struct TcpOffer {
  std::string host;   // numeric; that of all addresses where the task listens on all
  uint16_t port = 0;  // 0: nowhere
  std::array<uint64_t, 2> secret{};
  friend bool operator==(const TcpOffer&, const TcpOffer&) = default;
};

struct TcpSockets {
  UniqueFd control;
  UniqueFd bulk;
};

// The address of a host by its name, or what is one already; a name is looked up, which may take a
// while.
Result<std::string> NumericHost(const std::string& host);
// "0.0.0.0", "::".
bool IsEveryHost(const std::string& host);

class TcpListener {
 public:
  static Result<TcpListener> Open(const std::string& host, uint64_t token);
  const TcpOffer& offer() const { return offer_; }
  // Lets in who knows the secret, till `end` can be read.
  void AttendUntil(const UniqueFd& end);
  // What it has let in, once: an answer that says that the other side has connected comes after
  // both are there.
  Result<TcpSockets> Take();

 private:
  static constexpr size_t kGreetingBytes = 32;
  // Somebody who has not said the secret yet.
  struct Guest {
    UniqueFd socket;
    std::array<char, kGreetingBytes> said{};
    size_t bytes = 0;
  };
  TcpListener(UniqueFd listener, TcpOffer offer, uint64_t token)
      : listener_(std::move(listener)), offer_(std::move(offer)), token_(token) {}
  void LetIn();
  bool Hear(Guest& guest);
  void Greet(Guest& guest);

  UniqueFd listener_;
  TcpOffer offer_;
  uint64_t token_ = 0;
  std::vector<Guest> guests_;  // the newest last
  std::array<UniqueFd, 2> proven_;
};

Result<TcpSockets> ConnectByTcp(const TcpOffer& offer, uint64_t token,
                                std::chrono::milliseconds timeout);

}  // namespace thalweg
