// SPDX-License-Identifier: Apache-2.0
// Work: what a compute function gets from its caller: threads, scratch memory, an instruction set,
// a cancel flag.
//
//   SerialWork work(GetIsaTable(BestIsaLevel()));          // or the adapter of a kernel context
//   RETURN_IF_ERROR(Gemm(work, DType::kFloat, shape, a, b, c));
//
// Determinism: compute functions choose their shards from sizes alone, never from the number of
// threads, and no two shards write the same place; so the bits do not depend on who runs which
// shard, nor when.
// Ownership: a Work lives through the call; nothing of it is kept. Scratch goes back before the
// call returns.
// Threads: ParallelFor may run shards on any threads, the caller's included; AllocateScratch and
// FreeScratch are called from inside shards and so must be safe from all of them at once.
// Errors: a refused allocation is ResourceExhausted, a set cancel flag Cancelled; both leave
// outputs undefined.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "thalweg/base/cancelled_step.h"
#include "thalweg/base/status.h"
#include "thalweg/compute/isa/isa.h"

namespace thalweg::compute {

class Work {
 public:
  using ShardFn = void (*)(void* context, int64_t shard);

  virtual ~Work() = default;
  // Calls fn(context, s) once for every s in [0, shards) and returns when all are done. No order is
  // promised.
  virtual void ParallelFor(int64_t shards, ShardFn fn, void* context) = 0;
  // At least `bytes`, aligned to 64; nullptr when memory is refused.
  virtual void* AllocateScratch(size_t bytes) = 0;
  virtual void FreeScratch(void* pointer, size_t bytes) = 0;
  virtual bool cancelled() const { return false; }

  const IsaTable& isa() const { return *isa_; }

 protected:
  explicit Work(const IsaTable& isa) : isa_(&isa) {}

 private:
  const IsaTable* isa_;
};

// Runs everything in the caller's thread, with scratch from the heap.
class SerialWork final : public Work {
 public:
  explicit SerialWork(const IsaTable& isa) : Work(isa) {}
  void ParallelFor(int64_t shards, ShardFn fn, void* context) override;
  void* AllocateScratch(size_t bytes) override;
  void FreeScratch(void* pointer, size_t bytes) override;
};

// A typed piece of scratch memory; false when it was refused. An empty one is true.
template <class T>
class Scratch {
 public:
  Scratch(Work& work, int64_t count)
      : work_(&work), bytes_(static_cast<size_t>(count) * sizeof(T)) {
    if (bytes_ > 0) data_ = static_cast<T*>(work.AllocateScratch(bytes_));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_ != nullptr) work_->FreeScratch(data_, bytes_);
  }
  explicit operator bool() const { return data_ != nullptr || bytes_ == 0; }
  T* get() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  Work* work_;
  size_t bytes_;
  T* data_ = nullptr;
};

Status OutOfScratch();

// ParallelFor over a callable `bool body(int64_t shard)`; false says that scratch was refused. One
// shard runs inline.
template <class Body>
Status ForShards(Work& work, int64_t shards, const Body& body) {
  struct Context {
    const Body& body;
    Work& work;
    std::atomic<bool> refused{false};
  } context{body, work};
  const auto run = [](void* p, int64_t shard) {
    auto* c = static_cast<Context*>(p);
    if (c->work.cancelled() || c->refused.load(std::memory_order_relaxed)) return;
    if (!c->body(shard)) c->refused.store(true, std::memory_order_relaxed);
  };
  if (shards == 1) {
    run(&context, 0);
  } else if (shards > 1) {
    work.ParallelFor(shards, run, &context);
  }
  if (work.cancelled()) return CancelledStep();
  return context.refused ? OutOfScratch() : OkStatus();
}

// ForShards over blocks of [0, n): body(begin, end) with at most `grain` elements each (grain >=
// 1).
template <class Body>
Status ForBlocks(Work& work, int64_t n, int64_t grain, const Body& body) {
  return ForShards(work, (n + grain - 1) / grain, [&](int64_t shard) {
    const int64_t begin = shard * grain;
    body(begin, begin + grain < n ? begin + grain : n);
    return true;
  });
}

}  // namespace thalweg::compute
