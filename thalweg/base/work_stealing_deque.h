// SPDX-License-Identifier: Apache-2.0
// WorkStealingDeque<T>: its owner pushes and pops at one end without a lock, other threads steal at
// the other end.
//
//   owner:  deque.Push(task);  if (deque.Pop(&task)) ...     last in, first out
//   thief:  if (deque.Steal(&task)) ...                      first in, first out
//
// The deque of Chase and Lev ("Dynamic circular work-stealing deque"), with sequentially consistent
// operations where it needs them. It grows and never shrinks; old rings are kept until destruction
// because a thief may be reading one. T is trivially copyable and a multiple of 8 bytes: it is
// stored as relaxed atomic words, and a torn read is thrown away when the exchange that claims the
// item fails.
// Ownership: owns its rings, not what an item points at.
// Threads: Push and Pop by one thread at a time (hand-over of that role needs outside ordering);
// Steal and Empty by any.
// Errors: none; Pop and Steal are false where there is nothing.
// Ordering: what came before Push(x) is visible to whoever gets x.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace thalweg {

template <class T>
class WorkStealingDeque {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint64_t) == 0);

 public:
  // `capacity` is a power of two.
  explicit WorkStealingDeque(int64_t capacity = 64) { Install(std::make_unique<Ring>(capacity)); }
  WorkStealingDeque(const WorkStealingDeque&) = delete;
  WorkStealingDeque& operator=(const WorkStealingDeque&) = delete;

  void Push(const T& item) {
    const int64_t bottom = bottom_.load(std::memory_order_relaxed);
    const int64_t top = top_.load(std::memory_order_acquire);
    Ring* ring = ring_.load(std::memory_order_relaxed);
    if (bottom - top == ring->capacity()) ring = Grow(ring, top, bottom);
    ring->Put(bottom, item);
    bottom_.store(bottom + 1, std::memory_order_release);
  }

  bool Pop(T* item) {
    const int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    if (top_.load(std::memory_order_relaxed) > bottom)
      return false;  // empty: no need for the exchange
    Ring* ring = ring_.load(std::memory_order_relaxed);
    bottom_.exchange(bottom, std::memory_order_seq_cst);
    int64_t top = top_.load(std::memory_order_seq_cst);
    if (top < bottom) {
      ring->Get(bottom, item);
      return true;
    }
    bool won = false;
    if (top == bottom) {  // the last one: race with the thieves for it
      ring->Get(bottom, item);
      won = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);
    }
    bottom_.store(bottom + 1, std::memory_order_relaxed);
    return won;
  }

  // False when empty, or when another thread was quicker.
  bool Steal(T* item) {
    int64_t top = top_.load(std::memory_order_seq_cst);
    const int64_t bottom = bottom_.load(std::memory_order_seq_cst);
    if (top >= bottom) return false;
    const Ring* ring = ring_.load(std::memory_order_acquire);
    ring->Get(top, item);
    return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);
  }

  // A snapshot.
  bool Empty() const {
    return top_.load(std::memory_order_seq_cst) >= bottom_.load(std::memory_order_seq_cst);
  }

 private:
  class Ring {
   public:
    explicit Ring(int64_t capacity)
        : mask_(capacity - 1), slots_(std::make_unique<Slot[]>(static_cast<size_t>(capacity))) {}
    int64_t capacity() const { return mask_ + 1; }
    void Put(int64_t index, const T& item) {
      std::array<uint64_t, kWords> words;
      std::memcpy(words.data(), &item, sizeof(T));
      Slot& slot = slots_[static_cast<size_t>(index & mask_)];
      for (size_t w = 0; w < kWords; ++w) slot[w].store(words[w], std::memory_order_relaxed);
    }
    void Get(int64_t index, T* item) const {
      std::array<uint64_t, kWords> words;
      const Slot& slot = slots_[static_cast<size_t>(index & mask_)];
      for (size_t w = 0; w < kWords; ++w) words[w] = slot[w].load(std::memory_order_relaxed);
      std::memcpy(static_cast<void*>(item), words.data(), sizeof(T));
    }

   private:
    static constexpr size_t kWords = sizeof(T) / sizeof(uint64_t);
    using Slot = std::array<std::atomic<uint64_t>, kWords>;
    const int64_t mask_;
    const std::unique_ptr<Slot[]> slots_;
  };

  Ring* Grow(const Ring* old, int64_t top, int64_t bottom) {
    auto bigger = std::make_unique<Ring>(old->capacity() * 2);
    T item;
    for (int64_t i = top; i < bottom; ++i) {
      old->Get(i, &item);
      bigger->Put(i, item);
    }
    return Install(std::move(bigger));
  }

  Ring* Install(std::unique_ptr<Ring> ring) {
    rings_.push_back(std::move(ring));
    ring_.store(rings_.back().get(), std::memory_order_release);
    return rings_.back().get();
  }

  alignas(64) std::atomic<int64_t> top_{0};
  alignas(64) std::atomic<int64_t> bottom_{0};
  std::atomic<Ring*> ring_{nullptr};
  std::vector<std::unique_ptr<Ring>> rings_;  // the owner's
};

}  // namespace thalweg
