// SPDX-License-Identifier: Apache-2.0
// Transport: how two tasks of ours come to a Channel of one kind. Who asks for a channel offers it
// in a hello, who is asked takes it or does not; the call that carries both is not the transport's.
//
//   ASSIGN_OR_RETURN(auto offer, transport.Offer(&hello));     // who asks; then the hello goes out
//   offer->AttendUntil(answered);
//   if (offer->IsTaken(answer)) return offer->Take();
//   ASSIGN_OR_RETURN(auto channel, transport.Accept(hello, from, &answer));      // who is asked
//
// A new one is a folder and a line in channels/transports.cc (docs/howto/add_a_transport.md).
// Ownership: an offer is withdrawn when it is destroyed, and ends before its transport.
// Threads: a transport from any; an offer from one at a time.
// Errors: of Accept, NotFound where the hello offers nothing of this kind; all others say why a
// channel that was offered cannot be had.
#pragma once

#include <memory>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/hello.h"
#include "thalweg/cluster/transport/unique_fd.h"

namespace thalweg {

class ChannelOffer {
 public:
  virtual ~ChannelOffer() = default;
  // Whether the other task has to be let in while the call is on its way. Of the transports that
  // are used together one attends at most.
  virtual bool attends() const { return false; }
  // Lets it in until `answered` can be read.
  virtual void AttendUntil(const UniqueFd& answered) { (void)answered; }
  // Whether the other task has come this way; asked of each offer until one says so.
  virtual bool IsTaken(const Hello& answer) = 0;
  // The channel to it, once.
  virtual Result<std::unique_ptr<Channel>> Take() = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Over a network: a failure is logged, once a task, and not tried again for a minute.
  virtual bool is_far() const { return false; }
  // What the log says of a task of ours that takes nothing; "": nothing is wrong with that.
  virtual std::string_view refusal() const { return ""; }
  // Adds where this task waits to the hello.
  virtual Result<std::unique_ptr<ChannelOffer>> Offer(Hello* hello) = 0;
  // `from`: the numeric address that the hello came from. Adds to the answer how it was taken.
  virtual Result<std::unique_ptr<Channel>> Accept(const Hello& hello, std::string_view from,
                                                  Hello* answer) = 0;
};

}  // namespace thalweg
