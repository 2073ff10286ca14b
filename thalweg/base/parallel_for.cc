// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/parallel_for.h"

#include <atomic>
#include <memory>

#include "thalweg/base/event_count.h"
#include "thalweg/base/spin.h"

namespace thalweg::internal {
namespace {

// Shared with helpers that may start long after the caller has gone on, hence counted.
class Loop {
 public:
  Loop(int64_t n, int64_t shard, ShardBody body, const void* context, int references)
      : n_(n),
        shard_(shard),
        shards_(n / shard + (n % shard != 0)),
        body_(body),
        context_(context),
        references_(references) {}

  int64_t shards() const { return shards_; }

  void Work() {
    int64_t mine = 0;
    for (;;) {
      const int64_t s = next_.fetch_add(1, std::memory_order_relaxed);
      if (s >= shards_) break;
      const int64_t begin = s * shard_;
      body_(context_, begin, begin + std::min(shard_, n_ - begin));
      ++mine;
    }
    if (mine != 0 && done_.fetch_add(mine, std::memory_order_acq_rel) + mine == shards_) {
      finished_.NotifyAll();
    }
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
  bool Done() const { return done_.load(std::memory_order_acquire) == shards_; }

  const int64_t n_;
  const int64_t shard_;
  const int64_t shards_;
  const ShardBody body_;
  const void* const context_;
  std::atomic<int> references_;
  EventCount finished_;
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int64_t> done_{0};
};

void Help(void* object, uint64_t) {
  Loop* const loop = static_cast<Loop*>(object);
  loop->Work();
  Loop::Release(loop);
}

}  // namespace

void ParallelForShards(WorkQueue& queue, int64_t n, int64_t shard, ShardBody body,
                       const void* context) {
  const int64_t others = (n - 1) / shard;  // shards but one
  const int helpers = static_cast<int>(std::min<int64_t>(queue.Parallelism(), others));
  Loop* const loop = std::make_unique<Loop>(n, shard, body, context, helpers + 1).release();
  for (int i = 0; i < helpers; ++i) queue.Schedule(Task{&Help, loop, 0});
  loop->Work();
  loop->Wait();
  Loop::Release(loop);
}

}  // namespace thalweg::internal
