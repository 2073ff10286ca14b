// SPDX-License-Identifier: Apache-2.0
// TracedAllocator: passes every call on to another allocator and writes down, for one step, what
// was given for which node and when it came back.
//
//   auto traced = TracedAllocator::Make(*allocator, ticks);
//   {
//     const TracedNode node(7);                 // what this thread allocates is node 7's
//     void* const block = traced->Allocate(bytes);
//     traced->Deallocate(block, bytes);
//   }
//   ticks.End();
//   Use(traced->Take());                          // and nothing is written down any more
//
// A bounded one (KeepNewest) forgets the oldest of those that have come back; what lives stays.
// What is charged without a block (HeapCharge) goes to the other allocator directly.
// Ownership: lives until the last block that it gave has come back, after the step too; the other
// allocator does so for the same blocks. Ticks are not read after Take().
// Threads: every member from any; TracedNode on the thread that made it.
// Errors: as Allocator: null where the other has no room.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/tick_clock.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

struct TracedAllocation {
  static constexpr int64_t kStillLives = INT64_MAX;
  const void* block = nullptr;
  int64_t bytes = 0;  // of the limit: what was asked for, rounded up
  int node = -1;      // -1: none was known
  int64_t start_nanos = 0;
  int64_t end_nanos = kStillLives;
  int64_t in_use = 0;  // of the other allocator, with this one
};

class TracedAllocator final : public Allocator {
 public:
  static std::shared_ptr<TracedAllocator> Make(Allocator& inner, const TickClock& ticks);

  void* Allocate(size_t bytes) override EXCLUDES(mutex_);
  void Deallocate(void* block, size_t bytes) override EXCLUDES(mutex_);
  AllocatorStats Stats() const override { return inner_.Stats(); }
  void Trim() override { inner_.Trim(); }

  Allocator& inner() const { return inner_; }
  // Before the first call: what is written down of blocks that have come back takes about so many
  // bytes at most, or as many as that of those that live.
  void KeepNewest(int64_t bytes) EXCLUDES(mutex_);
  static constexpr int64_t kNothing = INT64_MIN;
  // When the ticks have ended. Blocks that came back later are there, with all that live; kNothing:
  // all are.
  int64_t ForgottenUntil() EXCLUDES(mutex_);
  // In the order in which they were made, when the ticks have ended. Ends the tracing.
  std::vector<TracedAllocation> Take() EXCLUDES(mutex_);

 private:
  TracedAllocator(Allocator& inner, const TickClock& ticks) : inner_(inner), ticks_(&ticks) {}
  ~TracedAllocator() override = default;
  void Release();
  void Forget() REQUIRES(mutex_);

  Allocator& inner_;
  std::atomic<int64_t> holders_{1};  // blocks, and whoever made it
  Mutex mutex_;
  const TickClock* ticks_ GUARDED_BY(mutex_);  // null: the tracing has ended
  size_t most_ended_ GUARDED_BY(mutex_) = SIZE_MAX;
  int64_t forgotten_until_ GUARDED_BY(mutex_) = kNothing;  // in ticks, as those of made_
  std::vector<TracedAllocation> made_ GUARDED_BY(mutex_);
  std::unordered_map<const void*, size_t> live_ GUARDED_BY(mutex_);  // numbers in made_
};

// While it lives, allocations of this thread are of the node with this number.
class TracedNode {
 public:
  explicit TracedNode(int node) : before_(current_) { current_ = node; }
  TracedNode(const TracedNode&) = delete;
  TracedNode& operator=(const TracedNode&) = delete;
  ~TracedNode() { current_ = before_; }
  static int Current() { return current_; }

 private:
  static inline thread_local int current_ = -1;
  const int before_;
};

}  // namespace thalweg
