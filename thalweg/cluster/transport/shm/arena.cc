// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/arena.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "thalweg/base/cgroup.h"

namespace thalweg {
namespace {

constexpr size_t kPage = 4096;

// 0 when it does not fit.
size_t BlockBytes(size_t bytes) {
  if (bytes > SIZE_MAX - kPage) return 0;
  return std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
}

}  // namespace

// Tensors that a peer may read, and the socket whose end says that it does no more.
struct ShmArena::Kept {
  ~Kept() {
    if (watch != nullptr) watch->Stop();
  }
  UniqueFd socket;
  std::vector<Tensor> tensors;
  std::atomic<bool> closed{false};
  std::unique_ptr<IoWatch> watch;

  // What still comes is of no interest, only the end.
  void OnEvents() {
    std::array<char, 256> some;
    while (true) {
      const ssize_t n = recv(socket.get(), some.data(), some.size(), MSG_DONTWAIT);
      if (n > 0 || (n < 0 && errno == EINTR)) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return watch->Want(EPOLLIN);
      return closed.store(true);
    }
  }
};

std::shared_ptr<ShmArena> ShmArena::Make(int64_t limit) {
  const size_t bytes =
      limit > 0 ? static_cast<size_t>(limit) : static_cast<size_t>(UsableMemory() / 2);
  return {new ShmArena(bytes), [](ShmArena* arena) { arena->HandleGone(); }};
}

ShmArena::~ShmArena() = default;

void ShmArena::HandleGone() {
  std::list<std::shared_ptr<Kept>> kept;  // nobody allocates any more, so nothing is reused
  bool last;
  {
    MutexLock lock(mutex_);
    kept.swap(kept_);
    ++live_;  // this call
    handle_gone_ = true;
  }
  kept.clear();
  {
    MutexLock lock(mutex_);
    last = --live_ == 0;
  }
  if (last) delete this;
}

bool ShmArena::AddPiece(size_t bytes) {
  bytes = std::max(bytes, std::min(kPieceBytes, limit_ / kPage * kPage));
  const auto kept = static_cast<size_t>(stats_.bytes_kept);
  if (kept > limit_ || bytes > limit_ - kept) return false;
  Result<SharedMemory> memory = SharedMemory::Make(bytes, SharedUse::kOwnerWrites);
  if (!memory.ok()) return false;
  auto piece = std::make_shared<Piece>();
  piece->id = next_id_++;
  piece->memory = *std::move(memory);
  char* begin = piece->memory.data();
  pieces_[begin] = std::move(piece);
  stats_.bytes_kept += static_cast<int64_t>(bytes);
  AddFree(begin, bytes);
  return true;
}

void ShmArena::AddFree(char* begin, size_t bytes) {
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && after->first == begin + bytes && !pieces_.contains(after->first)) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin() && !pieces_.contains(begin)) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_[begin] = bytes;
}

uint64_t ShmArena::AddListener(Listener listener) {
  MutexLock lock(listeners_mutex_);
  listeners_.emplace(next_listener_, std::move(listener));
  return next_listener_++;
}

void ShmArena::RemoveListener(uint64_t number) {
  MutexLock lock(listeners_mutex_);
  listeners_.erase(number);
}

void ShmArena::TrimToSpare() {
  TrimTo(1);
  MutexLock lock(mutex_);
  spare_until_ = std::chrono::steady_clock::now() + kSpareFor;
  spare_since_ = stats_.num_allocations;
}

void ShmArena::TrimSpare() {
  {
    MutexLock lock(mutex_);
    if (!spare_until_.has_value() || std::chrono::steady_clock::now() < *spare_until_) return;
    spare_until_.reset();
    if (spare_since_ != stats_.num_allocations) return;  // who uses it trims at the end
  }
  Trim();
}

void ShmArena::TrimTo(int spare_pieces) {
  DropClosed();
  std::vector<std::shared_ptr<const Piece>> empty;  // are unmapped without the lock
  MutexLock listening(listeners_mutex_);
  {
    MutexLock lock(mutex_);
    for (auto it = pieces_.begin(); it != pieces_.end();) {
      const auto next = std::next(it);
      const SharedMemory& memory = it->second->memory;
      const auto block = free_.find(memory.data());
      const bool unused = block != free_.end() && block->second == memory.bytes();
      const bool stays = unused && memory.bytes() <= kPieceBytes && spare_pieces-- > 0;
      if (unused && !stays) {
        stats_.bytes_kept -= static_cast<int64_t>(memory.bytes());
        free_.erase(block);
        empty.push_back(std::move(it->second));
        pieces_.erase(it);
      }
      it = next;
    }
  }
  for (const auto& piece : empty) {
    for (const auto& [number, listener] : listeners_) listener(piece->id);
  }
}

void* ShmArena::Allocate(size_t bytes) {
  DropClosed();
  const size_t wanted = BlockBytes(bytes);
  if (wanted == 0) return nullptr;
  MutexLock lock(mutex_);
  for (bool added = false;; added = true) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= wanted && (best == free_.end() || it->second < best->second)) best = it;
    }
    if (best != free_.end()) {
      char* block = best->first;
      const size_t rest = best->second - wanted;
      free_.erase(best);
      if (rest > 0) free_[block + wanted] = rest;
      ++live_;
      ++stats_.num_allocations;
      stats_.bytes_in_use += static_cast<int64_t>(wanted);
      stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
      return block;
    }
    if (added || !AddPiece(wanted)) return nullptr;
  }
}

void ShmArena::Deallocate(void* block, size_t bytes) {
  bool last;
  {
    MutexLock lock(mutex_);
    const size_t freed = BlockBytes(bytes);
    AddFree(static_cast<char*>(block), freed);
    stats_.bytes_in_use -= static_cast<int64_t>(freed);
    last = --live_ == 0 && handle_gone_;
  }
  if (last) delete this;
}

AllocatorStats ShmArena::Stats() const {
  MutexLock lock(mutex_);
  AllocatorStats stats = stats_;
  stats.limit = static_cast<int64_t>(limit_);
  return stats;
}

std::optional<ShmArena::Place> ShmArena::Find(const void* address, size_t bytes) const {
  const auto* at = static_cast<const char*>(address);
  MutexLock lock(mutex_);
  auto it = pieces_.upper_bound(at);
  if (it == pieces_.begin()) return std::nullopt;
  --it;
  const auto offset = static_cast<size_t>(at - it->first);
  const size_t size = it->second->memory.bytes();
  if (offset > size || bytes > size - offset) return std::nullopt;
  return Place{it->second, offset};
}

void ShmArena::KeepUntilClosed(std::shared_ptr<IoThread> io, UniqueFd socket,
                               std::vector<Tensor> tensors) {
  auto kept = std::make_shared<Kept>();
  kept->socket = std::move(socket);
  kept->tensors = std::move(tensors);
  Result<std::unique_ptr<IoWatch>> watch = IoWatch::Make(
      std::move(io), kept->socket.get(), [k = kept.get()](uint32_t) { k->OnEvents(); });
  if (watch.ok()) {  // otherwise kept as long as the arena
    kept->watch = *std::move(watch);
    kept->watch->Want(EPOLLIN);
  }
  MutexLock lock(mutex_);
  kept_.push_back(std::move(kept));
}

void ShmArena::DropClosed() {
  std::list<std::shared_ptr<Kept>> closed;  // goes after the lock: its tensors come back here
  MutexLock lock(mutex_);                   // released first
  for (auto it = kept_.begin(); it != kept_.end();) {
    const auto next = std::next(it);
    if ((*it)->closed.load()) closed.splice(closed.end(), kept_, it);
    it = next;
  }
}

}  // namespace thalweg
