// SPDX-License-Identifier: Apache-2.0
// Channel: what two Thalweg tasks say to each other once they know each other: short control
// messages and tensors, in order, without gRPC. Pushed, not asked for.
//
//   channel.Send(Encode(StartMessage{.step = step, .plan = 3}).view());
//   channel.Push({.step = step, .dtype = tensor.dtype(), .shape = tensor.shape()}, tensor);
//   while (channel.Poll(sink, 64)) {}                  // calls the sink for what has arrived
//   if (channel.Arm()) Park();                         // until the ring of OnArrival
//
// Order: what one side sends arrives in that order within control and small tensors; a large tensor
// may arrive after control that was sent later, never before control that was sent earlier.
// Ownership: a pushed tensor is kept until the other side has it (and, in shared memory, has
// dropped it) or the channel is closed. However many wait, a side copies at most kMaxUntaken bytes
// of plain elements that the other one has not taken.
// Threads: every member from any thread, none blocks. One thread polls at a time; others return at
// once. Destruction closes, and no thread may be in another member then.
// Errors: the first failure (end of file, a malformed record, Close) closes the channel; OnClosed
// comes once, last, and what is sent later is dropped. What the other side sent before it closed
// arrives first; who closes gets no more. Every offset, length and shape that arrives is checked: a
// wrong one closes the channel.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/futex.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/tensor/shape.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

inline constexpr size_t kMaxControlBytes = 1024;
inline constexpr size_t kMaxUntaken = size_t{256} << 20;

// What a tensor is, ahead of its bytes. `edge` is a number that both sides agreed on when the
// graph was registered.
struct TensorHead {
  uint64_t step = 0;
  uint32_t edge = 0;
  uint64_t frame = 0;  // 0: outside loops
  uint64_t iteration = 0;
  bool dead = false;  // no bytes: the branch was not taken
  DType dtype = DType::kInvalid;
  Shape shape;
};

// Who hears what arrives. Called by the polling thread only, never two calls at once.
class ChannelSink {
 public:
  virtual ~ChannelSink() = default;
  virtual void OnControl(std::string_view message) = 0;
  // The tensor into which the bytes go, of the head's type and shape: they are received once, into
  // their place. An error: the bytes are read and dropped. Not called where a tensor is read in
  // place in the sender's memory.
  virtual Result<Tensor> OnHead(const TensorHead& head) = 0;
  virtual void OnTensor(const TensorHead& head, Tensor tensor) = 0;
  virtual void OnClosed(const Status& why) = 0;
};

class Channel {
 public:
  virtual ~Channel() = default;
  // Has a reserve of its own: large tensors on their way do not hold it up. A longer message than
  // kMaxControlBytes closes the channel.
  virtual void Send(std::string_view control) = 0;
  // The tensor is of the head's type and shape, or empty and dead; otherwise the channel closes.
  virtual void Push(const TensorHead& head, Tensor tensor) = 0;
  // Handles at most `budget` records; true if there may be more. False at once where another
  // thread polls.
  virtual bool Poll(ChannelSink& sink, int budget) = 0;
  // What Arm asks for. Runs on any thread, under a lock of the channel's: it wakes somebody and
  // calls no member of a channel. Once, before the first Poll and the first Arm.
  virtual void OnArrival(std::function<void()> ring) = 0;
  // Who stops polling asks for one ring when something arrives (or the channel closes). False:
  // something has arrived already, so poll again; no ring comes.
  virtual bool Arm() = 0;
  // As Arm, for a thread that sleeps on words of memory (SleepOnWords): what the other side sends
  // changes `word` and wakes who sleeps on it; only the rest rings. Where a channel has no such
  // word, it is Arm, and `word` stays null.
  virtual bool ArmWord(FutexWord* word) {
    *word = FutexWord();
    return Arm();
  }
  // Somebody polls again: the other side need not ring, though it may.
  virtual void Disarm() {}
  // Idempotent; the first reason stays. Both sides hear it.
  virtual void Close(Status why) = 0;
};

}  // namespace thalweg
