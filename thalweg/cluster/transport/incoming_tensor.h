// SPDX-License-Identifier: Apache-2.0
// IncomingTensor: a large tensor that was announced and comes in pieces. They are received once,
// into the place that the sink gives; where it gives none, they are dropped.
//
//   IncomingTensor coming(head, 4'000'000);
//   RETURN_IF_ERROR(coming.Begin(sink));
//   while (coming.left() > 0) coming.Take(ReadPiece());
//   RETURN_IF_ERROR(coming.Finish(sink));
//
// Ownership: owns its head and the tensor that the sink gave, until Finish hands that over.
// Threads: one at a time.
// Errors: those of the sink; DataLoss for malformed bytes or a wrong place, ResourceExhausted where
// too much is announced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"

namespace thalweg {

// Whether one of so many bytes may be announced where others are that have not come: DataLoss,
// ResourceExhausted.
Status CheckAnnounced(uint64_t bytes, size_t others);

class IncomingTensor {
 public:
  IncomingTensor(TensorHead head, uint64_t bytes) : head_(std::move(head)), bytes_(bytes) {}
  uint64_t left() const { return bytes_ - received_; }
  // Asks the sink for the place of plain elements; once, however often it is called.
  Status Begin(ChannelSink& sink);
  // Where the next bytes go, for who reads them there and says Advance; null: they go to Take.
  char* place();
  void Advance(size_t bytes) { received_ += bytes; }
  // The next bytes, at most as many as are left.
  void Take(std::string_view piece);
  // All have come.
  Status Finish(ChannelSink& sink);

 private:
  TensorHead head_;
  uint64_t bytes_;
  uint64_t received_ = 0;
  bool begun_ = false;
  bool refused_ = false;
  Tensor target_;        // plain elements
  std::string objects_;  // the others, as they come
};

}  // namespace thalweg
