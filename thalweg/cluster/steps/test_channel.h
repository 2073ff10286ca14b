// SPDX-License-Identifier: Apache-2.0
// MuteChannel: a channel to which everything can be sent, and from which nothing comes but its end.
//
//   auto connection = steps.hub().Add("/job:mute", std::make_unique<MuteChannel>());
//   steps.OnControl(*connection, message);  // what would come
//
// Ownership: the connection's.
// Threads: one at a time; it may be closed from any.
// Errors: none.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "thalweg/cluster/transport/channel_hub.h"

namespace thalweg {

class MuteChannel : public Channel {
 public:
  void Send(std::string_view control) override { sent_ = control; }
  void Push(const TensorHead& head, Tensor) override { pushed_ = head; }
  bool Poll(ChannelSink& sink, int) override {
    if (closes.exchange(false)) sink.OnClosed(Aborted("enough"));
    return false;
  }
  void OnArrival(std::function<void()>) override {}
  bool Arm() override { return true; }
  void Close(Status) override { closes = true; }

  std::atomic<bool> closes{false};
  std::string sent_;
  TensorHead pushed_;
};

}  // namespace thalweg
