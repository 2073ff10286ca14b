// SPDX-License-Identifier: Apache-2.0
// Channels over UCX between two tasks of ours that know each other by calls, as TcpListener makes
// them over TCP: who asks opens a listener, who is asked comes to it, and both prove that they were
// told of it. In a build without UCX (ucx_absent.cc) every one of these is Unimplemented.
//
//   ASSIGN_OR_RETURN(UcxListener listener, UcxListener::Open("10.0.0.5"));
//   listener.AttendUntil(answered);      // lets in whom a call has told offer()
//   ASSIGN_OR_RETURN(auto ours, listener.Take(io));
//   ASSIGN_OR_RETURN(auto theirs,        // the other task, before it answers that call
//                    ConnectByUcx(offer, "10.0.0.6", io, std::chrono::seconds(1)));
//
// Ownership: a listener owns its end until Take hands it to the channel; channels share the thread.
// Threads: one at a time.
// Errors: Unavailable where the other side does not come, cannot be reached or does not answer;
// DataLoss and InvalidArgument for an offer that is none of ours.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/io_thread.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

class UcxEndpoint;

using UcxSecret = std::array<uint64_t, 2>;

// Where a task waits to be spoken to.
struct UcxOffer {
  std::string address;  // empty: nowhere
  UcxSecret secret{};
  friend bool operator==(const UcxOffer&, const UcxOffer&) = default;
};

// OK, or Unimplemented with how to build it.
Status HasUcx();

class UcxListener {
 public:
  // `host`: the numeric address at which others reach this task; of a loopback one nothing else is
  // listened on.
  static Result<UcxListener> Open(const std::string& host);
  UcxListener(UcxListener&&) noexcept;
  UcxListener& operator=(UcxListener&&) noexcept;
  ~UcxListener();
  const UcxOffer& offer() const { return offer_; }
  // Lets in who knows the secret, till `end` can be read.
  void AttendUntil(const UniqueFd& end);
  // The channel to whom it has let in, once.
  Result<std::unique_ptr<Channel>> Take(std::shared_ptr<IoThread> io);

 private:
  UcxListener(std::unique_ptr<UcxEndpoint> end, UcxOffer offer);
  void LetIn();

  std::unique_ptr<UcxEndpoint> end_;
  UcxOffer offer_;
};

Result<std::unique_ptr<Channel>> ConnectByUcx(const UcxOffer& offer, const std::string& host,
                                              std::shared_ptr<IoThread> io,
                                              std::chrono::milliseconds timeout);

}  // namespace thalweg
