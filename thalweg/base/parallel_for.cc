// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "thalweg/base/event_count.h"
#include "thalweg/base/helper_listener.h"
#include "thalweg/base/spin.h"

namespace thalweg::internal {
namespace {

constexpr int kMostRanges = 8;

// The shards are laid out as one range for each thread that may come. A thread claims those of its
// own range first, then what is left of the others': loops over the same data give a thread the
// part that lies in its caches from before. Shared with helpers that may start long after the
// caller has gone on, hence counted.
class Loop {
 public:
  Loop(int64_t n, int64_t shard, ShardBody body, const void* context, int references)
      : n_(n),
        shard_(shard),
        shards_(n / shard + (n % shard != 0)),
        body_(body),
        context_(context),
        listener_(HelperListener::Current()),
        ranges_(std::min(references, kMostRanges)),
        references_(references) {
    const int64_t each = shards_ / ranges_, more = shards_ % ranges_;
    int64_t begin = 0;
    for (int r = 0; r < ranges_; ++r) {
      range_[r].next.store(begin, std::memory_order_relaxed);
      begin += each + (r < more ? 1 : 0);
      range_[r].end = begin;
    }
  }

  // thread: 0 is the caller, helpers count from 1.
  void Work(int thread) {
    Finish(WorkOnAll(thread, [] {}));
  }

  void Help(int thread) {
    if (listener_ == nullptr) {
      ThreadSwitches::Rest();
      return Work(thread);
    }
    // The listener is there while a shard has been claimed that does not count as done.
    std::optional<ThreadSwitches::Watch> watch;
    std::optional<HelperListener::Scope> scope;
    const int64_t mine = WorkOnAll(thread, [&] {
      if (watch) return;
      watch.emplace();
      scope.emplace(listener_);
    });
    if (watch) listener_->AddSwitches(&*watch);
    Finish(mine);
  }

  void Wait() {
    Spinner spinner;
    while (!Done()) {
      if (spinner.Spin()) continue;
      const EventCount::Key key = finished_.Prepare();
      if (Done()) {
        finished_.Cancel();
      } else {
        finished_.Wait(key);
      }
    }
  }

  static void Release(Loop* loop) {
    if (loop->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::unique_ptr<Loop> last(loop);
    }
  }

 private:
  struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  void Finish(int64_t mine) {
    if (mine != 0 && done_.fetch_add(mine, std::memory_order_acq_rel) + mine == shards_) {
      finished_.NotifyAll();
    }
  }

  // `claimed` is called before each shard. How many there were.
  template <class Claimed>
  int64_t WorkOnAll(int thread, const Claimed& claimed) {
    int64_t mine = 0;
    for (int i = 0; i < ranges_; ++i) mine += WorkOn(range_[(thread + i) % ranges_], claimed);
    return mine;
  }

  template <class Claimed>
  int64_t WorkOn(Range& range, const Claimed& claimed) {
    int64_t mine = 0;
    // A look first: most threads find most ranges done.
    while (range.next.load(std::memory_order_relaxed) < range.end) {
      const int64_t s = range.next.fetch_add(1, std::memory_order_relaxed);
      if (s >= range.end) break;
      claimed();
      const int64_t begin = s * shard_;
      body_(context_, begin, begin + std::min(shard_, n_ - begin));
      ++mine;
    }
    return mine;
  }

  bool Done() const { return done_.load(std::memory_order_acquire) == shards_; }

  const int64_t n_;
  const int64_t shard_;
  const int64_t shards_;
  const ShardBody body_;
  const void* const context_;
  HelperListener* const listener_;
  const int ranges_;
  std::atomic<int> references_;
  EventCount finished_;
  Range range_[kMostRanges];
  alignas(64) std::atomic<int64_t> done_{0};
};

void Help(void* object, uint64_t thread) {
  Loop* const loop = static_cast<Loop*>(object);
  loop->Help(static_cast<int>(thread));
  Loop::Release(loop);
}

}  // namespace

void ParallelForShards(WorkQueue& queue, int64_t n, int64_t shard, ShardBody body,
                       const void* context) {
  const int64_t others = (n - 1) / shard;  // shards but one
  const int helpers = static_cast<int>(std::min<int64_t>(queue.Parallelism(), others));
  Loop* const loop = std::make_unique<Loop>(n, shard, body, context, helpers + 1).release();
  for (int i = 0; i < helpers; ++i) {
    queue.Schedule(Task{&Help, loop, static_cast<uint64_t>(i) + 1});
  }
  loop->Work(0);
  loop->Wait();
  Loop::Release(loop);
}

}  // namespace thalweg::internal
