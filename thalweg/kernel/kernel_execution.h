// SPDX-License-Identifier: Apache-2.0
// KernelExecution: what kernels of one step give to compute/: the threads of a queue, scratch
// memory from an allocator, the step's cancel flag.
// Ownership: isa, queue, allocator and cancellation outlive it.
// Threads: set_queue and set_allocator before the others; these from any.
// Errors: none; null for scratch memory that is not there, true from cancelled().
#pragma once

#include "thalweg/base/cancellation.h"
#include "thalweg/base/parallel_for.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {

class KernelExecution final : public compute::Work {
 public:
  // All outlive this object. A null queue: everything in the caller. A null cancellation: never.
  KernelExecution(const compute::IsaTable& isa, WorkQueue* queue, Allocator& allocator,
                  const CancellationManager* cancellation)
      : Work(isa), queue_(queue), allocator_(&allocator), cancellation_(cancellation) {}

  void set_queue(WorkQueue* queue) { queue_ = queue; }
  // While no scratch memory is taken.
  void set_allocator(Allocator& allocator) { allocator_ = &allocator; }
  Allocator& allocator() const { return *allocator_; }
  void ParallelFor(int64_t shards, ShardFn fn, void* context) override {
    thalweg::ParallelFor(queue_, shards, 1, [fn, context](int64_t begin, int64_t end) {
      for (int64_t shard = begin; shard < end; ++shard) fn(context, shard);
    });
  }
  void* AllocateScratch(size_t bytes) override { return allocator_->Allocate(bytes); }
  void FreeScratch(void* pointer, size_t bytes) override { allocator_->Deallocate(pointer, bytes); }
  bool cancelled() const override {
    return cancellation_ != nullptr && cancellation_->IsCancelled();
  }

 private:
  WorkQueue* queue_;
  Allocator* allocator_;
  const CancellationManager* const cancellation_;
};

}  // namespace thalweg
