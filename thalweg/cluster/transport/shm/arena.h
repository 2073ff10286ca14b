// SPDX-License-Identifier: Apache-2.0
// ShmArena: an allocator whose blocks other processes of this host can read in place. What feeds a
// Send to a task on the same host is best made here; anything else is copied here when it is
// pushed.
//
//   const std::shared_ptr<ShmArena> arena = ShmArena::Make(limit);
//   ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(*arena, DType::kFloat, Shape{1000}));
//   channel.Push(head, t);                              // sends the place, not the bytes
//
// Pieces of 64 MB (or of one larger block), each a memfd, backed when made; this process alone can
// write.
// Ownership: lives until the last block has come back. Pieces stay until Trim() finds no block in
// them; peers that were told of one then let go of it.
// Threads: every member from any.
// Errors: null, as of any allocator, where the limit is reached or the system has no more memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/io_thread.h"
#include "thalweg/cluster/transport/shm/memory.h"
#include "thalweg/tensor/allocator.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class ShmArena final : public Allocator {
 public:
  static constexpr size_t kPieceBytes = size_t{64} << 20;

  struct Piece {
    uint64_t id = 0;
    SharedMemory memory;
  };
  struct Place {
    std::shared_ptr<const Piece> piece;
    uint64_t offset = 0;
  };

  // `limit`: bytes of all pieces; 0: half of the physical memory.
  static std::shared_ptr<ShmArena> Make(int64_t limit = 0);

  void* Allocate(size_t bytes) override EXCLUDES(mutex_);
  void Deallocate(void* block, size_t bytes) override EXCLUDES(mutex_);
  AllocatorStats Stats() const override EXCLUDES(mutex_);
  void Trim() override EXCLUDES(listeners_mutex_, mutex_) { TrimTo(0); }
  // As Trim, but one piece of the usual size stays for whatever comes next, until TrimSpare finds
  // that nothing was allocated for kSpareFor.
  void TrimToSpare() EXCLUDES(listeners_mutex_, mutex_);
  void TrimSpare() EXCLUDES(listeners_mutex_, mutex_);
  static constexpr std::chrono::seconds kSpareFor{10};

  // Where an address lies; nothing for memory that is not the arena's.
  std::optional<Place> Find(const void* address, size_t bytes) const EXCLUDES(mutex_);

  // Is told of each piece that Trim gives up. When Remove returns, the listener runs no more.
  using Listener = std::function<void(uint64_t piece)>;
  uint64_t AddListener(Listener listener) EXCLUDES(listeners_mutex_);
  void RemoveListener(uint64_t number) EXCLUDES(listeners_mutex_);

  // Keeps tensors that another process may still read, until it has closed its end of the socket.
  void KeepUntilClosed(std::shared_ptr<IoThread> io, UniqueFd socket, std::vector<Tensor> tensors)
      EXCLUDES(mutex_);

 private:
  struct Kept;

  explicit ShmArena(size_t limit) : limit_(limit) {}
  ~ShmArena() override;
  void HandleGone() EXCLUDES(mutex_);
  void TrimTo(int spare_pieces) EXCLUDES(listeners_mutex_, mutex_);
  bool AddPiece(size_t bytes) REQUIRES(mutex_);
  void AddFree(char* begin, size_t bytes) REQUIRES(mutex_);
  void DropClosed() EXCLUDES(mutex_);

  const size_t limit_;
  Mutex listeners_mutex_;  // before mutex_
  std::map<uint64_t, Listener> listeners_ GUARDED_BY(listeners_mutex_);
  uint64_t next_listener_ GUARDED_BY(listeners_mutex_) = 1;
  mutable Mutex mutex_;
  uint64_t next_id_ GUARDED_BY(mutex_) = 1;
  std::map<const char*, std::shared_ptr<const Piece>> pieces_ GUARDED_BY(mutex_);  // by begin
  std::map<char*, size_t> free_ GUARDED_BY(mutex_);  // by begin; neighbors of a piece are joined
  std::list<std::shared_ptr<Kept>> kept_ GUARDED_BY(mutex_);
  int64_t live_ GUARDED_BY(mutex_) = 0;          // blocks
  bool handle_gone_ GUARDED_BY(mutex_) = false;  // dies with the last block
  AllocatorStats stats_ GUARDED_BY(mutex_);
  // While there may be a spare piece: when it goes, unless more was allocated.
  std::optional<std::chrono::steady_clock::time_point> spare_until_ GUARDED_BY(mutex_);
  int64_t spare_since_ GUARDED_BY(mutex_) = 0;  // as many allocations there had been
};

}  // namespace thalweg
