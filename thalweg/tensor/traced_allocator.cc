// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/traced_allocator.h"

#include <algorithm>
#include <utility>

#include "thalweg/tensor/block_bytes.h"

namespace thalweg {

std::shared_ptr<TracedAllocator> TracedAllocator::Make(Allocator& inner, const TickClock& ticks) {
  return {new TracedAllocator(inner, ticks),
          [](TracedAllocator* allocator) { allocator->Release(); }};
}

void TracedAllocator::Release() {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void* TracedAllocator::Allocate(size_t bytes) {
  void* const block = inner_.Allocate(bytes);
  if (block == nullptr) return nullptr;
  holders_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  if (ticks_ == nullptr) return block;
  // To forget is to look through those that live, too: as seldom as there are many.
  if (made_.size() - live_.size() > std::max(most_ended_, live_.size())) [[unlikely]]
    Forget();
  live_[block] = made_.size();
  made_.push_back({.block = block,
                   .bytes = static_cast<int64_t>(BlockBytes(inner_, bytes)),
                   .node = TracedNode::Current(),
                   .start_nanos = ticks_->Now(),
                   .in_use = inner_.Stats().bytes_in_use});
  return block;
}

void TracedAllocator::Deallocate(void* block, size_t bytes) {
  {
    MutexLock lock(mutex_);
    if (const auto live = live_.find(block); live != live_.end()) {
      made_[live->second].end_nanos = ticks_->Now();
      live_.erase(live);
    }
  }
  // Behind the note: another thread may be given the same block at once.
  inner_.Deallocate(block, bytes);
  Release();
}

void TracedAllocator::KeepNewest(int64_t bytes) {
  MutexLock lock(mutex_);
  most_ended_ = static_cast<size_t>(bytes) / sizeof(TracedAllocation);
}

// Those that came back first: a quarter at a time, so that what stays is seldom moved.
void TracedAllocator::Forget() {
  std::vector<int64_t> ends;
  for (const TracedAllocation& each : made_) {
    if (each.end_nanos != TracedAllocation::kStillLives) ends.push_back(each.end_nanos);
  }
  const size_t gone = ends.size() - std::min(most_ended_ - most_ended_ / 4, ends.size() - 1);
  std::nth_element(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(gone - 1), ends.end());
  forgotten_until_ = ends[gone - 1];
  size_t kept = 0;
  for (const TracedAllocation& each : made_) {
    if (each.end_nanos <= forgotten_until_) continue;
    if (each.end_nanos == TracedAllocation::kStillLives) live_[each.block] = kept;
    made_[kept++] = each;
  }
  made_.resize(kept);
}

int64_t TracedAllocator::ForgottenUntil() {
  MutexLock lock(mutex_);
  return forgotten_until_ == kNothing || ticks_ == nullptr ? forgotten_until_
                                                           : ticks_->Nanos(forgotten_until_);
}

std::vector<TracedAllocation> TracedAllocator::Take() {
  MutexLock lock(mutex_);
  const TickClock* const ticks = std::exchange(ticks_, nullptr);
  live_.clear();
  if (ticks == nullptr) return {};
  if (forgotten_until_ != kNothing) forgotten_until_ = ticks->Nanos(forgotten_until_);
  for (TracedAllocation& each : made_) {
    each.start_nanos = ticks->Nanos(each.start_nanos);
    if (each.end_nanos != TracedAllocation::kStillLives) {
      each.end_nanos = ticks->Nanos(each.end_nanos);
    }
  }
  return std::exchange(made_, {});
}

}  // namespace thalweg
