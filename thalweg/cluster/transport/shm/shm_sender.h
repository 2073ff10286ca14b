// SPDX-License-Identifier: Apache-2.0
// ShmSender: the sending side of a shared-memory channel, and what both sides of it know. Received
// tensors hold it, so that they can say when they are let go.
//
//   ASSIGN_OR_RETURN(const Tensor bytes, ShmSender::BytesOf(tensor));
//   sender->PushLarge(head, tensor, bytes);
//
// A large tensor is lent where it lies in the arena, or a copy of it where there is room for one
// and the other side has let go of most copies before. Otherwise it waits, by reference, and goes
// through the ring in pieces when its turn comes: what the reader has taken out of the ring makes
// room for the next ones, and control messages always have some. Nobody waits here: the I/O
// thread goes on when the reader says that there is room.
// Ownership: owns rings and socket, shares the arena, and holds lent tensors until the other side
// lets go of them.
// Threads: every member from any. No lock is held while a tensor is let go.
// Errors: the first one closes it, and Why() tells it; what is sent later is dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/doorbell.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/shm/arena.h"
#include "thalweg/cluster/transport/shm/control_socket.h"
#include "thalweg/cluster/transport/shm/ring.h"

namespace thalweg {

class ShmSender {
 public:
  ShmSender(std::shared_ptr<ShmArena> arena, ControlSocket socket, SharedMemory rings,
            bool initiator);
  // Tells the other side that nothing of its memory is read here any more.
  ~ShmSender();

  void Send(std::string_view head, std::string_view payload) EXCLUDES(mutex_);
  // What travels of a tensor: objects travel encoded.
  static Result<Tensor> BytesOf(const Tensor& tensor);
  // `bytes`: those of the tensor.
  void PushLarge(const TensorHead& head, Tensor tensor, Tensor bytes) EXCLUDES(sending_, mutex_);
  // The other side has let go of these.
  Status TakeBack(std::span<const uint64_t> loans) EXCLUDES(sending_, mutex_);
  // Writes what did not fit into the ring.
  void Flush() EXCLUDES(sending_, mutex_);
  void Close(Status why) EXCLUDES(sending_, mutex_);
  // Lets go of what waits for a channel that is closed.
  void DropWaiting() EXCLUDES(sending_, mutex_);
  // All that the other side may still read.
  std::vector<Tensor> TakeLoans() EXCLUDES(mutex_);
  Status Why() EXCLUDES(mutex_);
  bool closed() const { return closed_.load(); }
  // Wakes the other side where it waits for room in its ring.
  void WakeWriter() EXCLUDES(mutex_);
  // After whatever has read the socket: each wake-up there may have been for the writer here, for
  // the reader or for both.
  void HandleWakes() EXCLUDES(sending_, mutex_);

  const ControlSocket socket;
  Doorbell doorbell;
  Ring in;  // of the polling thread

 private:
  struct Waiting {
    TensorHead head;
    Tensor tensor;
  };
  struct Loan {
    enum Kind { kAsItIs, kCopy, kPieceCopy };
    Tensor bytes;
    Kind kind;
  };

  bool MustWait() EXCLUDES(mutex_);
  Tensor CopyOf(std::string_view bytes) EXCLUDES(mutex_);
  std::optional<ShmArena::Place> PlaceOf(const Tensor& bytes) const;
  Result<bool> Lend(const TensorHead& head, Tensor bytes, const ShmArena::Place& place,
                    Loan::Kind kind) REQUIRES(mutex_);
  Result<bool> Tell(const ShmArena::Place& place) REQUIRES(mutex_);
  SharedPlace AddLoan(Tensor bytes, const ShmArena::Place& place, Loan::Kind kind) REQUIRES(mutex_);
  void SendWaiting() EXCLUDES(sending_, mutex_);
  Result<bool> SendFirst(Waiting* gone, Tensor* gone_bytes) EXCLUDES(sending_, mutex_);
  Result<bool> Begin(const Waiting& first) REQUIRES(sending_) EXCLUDES(mutex_);
  Result<bool> SendPieces() REQUIRES(sending_) EXCLUDES(mutex_);
  bool MayLendPiece() EXCLUDES(mutex_);
  Result<bool> LendPiece(std::string_view bytes) EXCLUDES(mutex_);
  Result<bool> WritePiece(std::string_view bytes) EXCLUDES(mutex_);
  void Write(std::string_view head, std::string_view payload) REQUIRES(mutex_);
  void WakeReader() REQUIRES(mutex_);
  void Wake() REQUIRES(mutex_);
  void Fail(Status why) REQUIRES(mutex_);
  void Forget(uint64_t piece) EXCLUDES(mutex_);

  const std::shared_ptr<ShmArena> arena_;
  const SharedMemory rings_;
  std::atomic<bool> closed_{false};
  Mutex sending_;                      // before mutex_: held while the first that waits is sent
  Tensor going_ GUARDED_BY(sending_);  // bytes of that one, which go in pieces
  size_t gone_bytes_ GUARDED_BY(sending_) = 0;  // as many have gone
  Mutex mutex_;
  Ring out_ GUARDED_BY(mutex_);
  std::deque<std::string> queued_ GUARDED_BY(mutex_);  // records for which the ring had no room
  size_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  std::deque<Waiting> waiting_ GUARDED_BY(mutex_);  // large tensors, in their order
  std::map<uint64_t, std::shared_ptr<const ShmArena::Piece>> told_ GUARDED_BY(mutex_);
  std::map<uint64_t, Loan> loans_ GUARDED_BY(mutex_);
  size_t copied_ GUARDED_BY(mutex_) = 0;  // bytes of copies among them
  int lent_pieces_ GUARDED_BY(mutex_) = 0;
  uint64_t next_loan_ GUARDED_BY(mutex_) = 1;
  Status why_ GUARDED_BY(mutex_);
  const uint64_t listening_;  // last: the arena may call at once
};

}  // namespace thalweg
