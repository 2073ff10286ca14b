// SPDX-License-Identifier: Apache-2.0
// ShmLink: the sending side of a shared-memory channel, and what both sides of it know. Received
// tensors hold it, so that they can say when they are let go.
//
// Threads: every member from any. No lock is held while a tensor is let go.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/bell.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/shm/arena.h"
#include "thalweg/cluster/transport/shm/door.h"
#include "thalweg/cluster/transport/shm/ring.h"

namespace thalweg {

class ShmLink {
 public:
  ShmLink(std::shared_ptr<ShmArena> arena, Door socket, SharedMemory rings, bool initiator);
  // Tells the other side that nothing of its memory is read here any more.
  ~ShmLink();

  void Send(std::string_view head, std::string_view payload) EXCLUDES(mutex_);
  // `bytes`: of the tensor, or the elements of `head` encoded.
  void PushShared(const TensorHead& head, Tensor bytes) EXCLUDES(placing_, mutex_);
  // The other side has let go of these.
  Status TakeBack(std::span<const uint64_t> loans) EXCLUDES(placing_, mutex_);
  // Writes what did not fit into the ring.
  void Flush() EXCLUDES(mutex_);
  void Close(Status why) EXCLUDES(mutex_);
  // All that the other side may still read.
  std::vector<Tensor> TakeLoans() EXCLUDES(mutex_);
  Status Why() EXCLUDES(mutex_);
  bool closed() const { return closed_.load(); }
  // Wakes the other side where it waits for room in its ring.
  void WakeWriter() EXCLUDES(mutex_);
  // After whatever has read the door: each wake-up there may have been for the writer here, for the
  // reader or for both.
  void HandleWakes() EXCLUDES(mutex_);

  const Door door;
  Bell bell;
  Ring in;  // of the polling thread

 private:
  struct Waiting {
    TensorHead head;
    Tensor bytes;
  };

  Result<bool> Place(const TensorHead& head, Tensor bytes) EXCLUDES(mutex_);
  Status Lend(const TensorHead& head, Tensor bytes, const ShmArena::Place& place) REQUIRES(mutex_);
  void Write(std::string_view head, std::string_view payload) REQUIRES(mutex_);
  void WakeReader() REQUIRES(mutex_);
  void Wake() REQUIRES(mutex_);
  void PlaceWaiting() EXCLUDES(placing_, mutex_);
  void Fail(Status why) REQUIRES(mutex_);
  void Forget(uint64_t piece) EXCLUDES(mutex_);

  const std::shared_ptr<ShmArena> arena_;
  const SharedMemory rings_;
  std::atomic<bool> closed_{false};
  Mutex placing_;  // before mutex_: waiting tensors keep their order
  Mutex mutex_;
  Ring out_ GUARDED_BY(mutex_);
  std::deque<std::string> queued_ GUARDED_BY(mutex_);  // records for which the ring had no room
  size_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  std::deque<Waiting> waiting_ GUARDED_BY(mutex_);  // tensors for which the arena had no room
  std::map<uint64_t, std::shared_ptr<const ShmArena::Piece>> told_ GUARDED_BY(mutex_);
  std::map<uint64_t, Tensor> loans_ GUARDED_BY(mutex_);
  uint64_t next_loan_ GUARDED_BY(mutex_) = 1;
  Status why_ GUARDED_BY(mutex_);
  const uint64_t listening_;  // last: the arena may call at once
};

}  // namespace thalweg
