// SPDX-License-Identifier: Apache-2.0
// SocketReceiver: reads the two connections of a channel: records from control, the bytes of large
// tensors from bulk, into their place.
//
//   SocketReceiver receiver(control_fd, bulk_fd, stop);
//   std::optional<Status> ended;
//   while (receiver.Poll(sink, 64, &ended)) {}
//
// Ownership: the descriptors and `stop` outlive it.
// Threads: one at a time.
// Errors: `ended`: the reason that the other side gave, or what was wrong.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/incoming_tensor.h"
#include "thalweg/cluster/transport/record.h"

namespace thalweg {

class SocketReceiver {
 public:
  // `stop`: set when nothing more is to be delivered.
  SocketReceiver(int control_fd, int bulk_fd, const std::atomic<bool>& stop)
      : control_fd_(control_fd), bulk_fd_(bulk_fd), stop_(stop) {}

  // Handles at most `budget` records, or pieces of one. True if there may be more. When the channel
  // ends, `ended` is set: the reason that the other side gave, or what was wrong.
  bool Poll(ChannelSink& sink, int budget, std::optional<Status>* ended);
  // Bytes of a large tensor are on their way.
  bool expects_bulk() const { return !incoming_.empty(); }
  // Lets go of what is half received.
  void Clear();

 private:
  enum class Step { kMore, kNothing };

  Result<Step> HandleBuffered(ChannelSink& sink);
  Status Handle(ChannelSink& sink, Record& record);
  Result<size_t> FillBuffer(bool* drained);
  Result<Step> ReceiveBulk(ChannelSink& sink);
  Result<size_t> ReceivePiece(IncomingTensor& coming);
  Result<bool> Advance(ChannelSink& sink, bool* drained);

  const int control_fd_;
  const int bulk_fd_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // of what is not handled yet
  size_t end_ = 0;
  bool close_said_ = false;
  Status bulk_error_;
  std::deque<IncomingTensor> incoming_;  // the first of them is being received
  Record record_;
};

}  // namespace thalweg
