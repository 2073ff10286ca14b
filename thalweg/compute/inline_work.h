// SPDX-License-Identifier: Apache-2.0
// InlineWork: another Work's scratch and instruction set with its shards run inline; for calls from
// inside a shard.
// Ownership: the outer Work outlives it, and gives the scratch.
// Threads: the shard's that made it.
// Errors: as the outer Work's: null for scratch that it refuses.
#pragma once

#include "thalweg/compute/work.h"

namespace thalweg::compute {

class InlineWork final : public Work {
 public:
  explicit InlineWork(Work& outer) : Work(outer.isa()), outer_(outer) {}
  void ParallelFor(int64_t shards, ShardFn fn, void* context) override {
    for (int64_t shard = 0; shard < shards; ++shard) fn(context, shard);
  }
  void* AllocateScratch(size_t bytes) override { return outer_.AllocateScratch(bytes); }
  void FreeScratch(void* pointer, size_t bytes) override { outer_.FreeScratch(pointer, bytes); }
  bool cancelled() const override { return outer_.cancelled(); }

 private:
  Work& outer_;
};

}  // namespace thalweg::compute
