// SPDX-License-Identifier: Apache-2.0
// HeldValues: what a step held when the memory of a device ran out, largest first, for the error.
//
//   if (RanOutOfMemory(status) && held.Begin(context)) {
//     held.AddRegisters(plan, unit, pc, registers);
//   }
//   held.AddSlots(plan, frame, slots);              // of what has ended since, and at the end
//   if (held.wanted()) error = held.Explain(error, plan.program, context.resources);
//
// Listed are tensors whose memory counts against the limit of that device: values of the step that
// still wait for a reader, and variables that its nodes name. Other threads go on until their nodes
// end, so what these give back meanwhile is missing.
// Ownership: numbers and texts; no tensor is kept alive.
// Threads: wanted and Begin from any; registers are those of the calling thread, slots those of an
// iteration that nobody else touches.
// Errors: none; Explain gives the error that it was given, with more words.
#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/executor/plan.h"
#include "thalweg/kernel/step_context.h"

namespace thalweg {

// The error is an allocator's, and does not say yet what held the memory.
bool RanOutOfMemory(const Status& error);

class HeldValues {
 public:
  bool wanted() const { return wanted_.load(std::memory_order_acquire); }
  // True for the first kernel that found no room.
  bool Begin(const StepContext& context) EXCLUDES(mutex_);
  // The code of the unit has come to `pc`.
  void AddRegisters(const Plan& plan, const Unit& unit, uint32_t pc, const Tensor* registers)
      EXCLUDES(mutex_);
  void AddSlots(const Plan& plan, uint32_t frame, const Tensor* slots) EXCLUDES(mutex_);
  // At the end of the step; forgets all. `resources` may be null.
  Status Explain(const Status& error, const Program& program, const ResourceManager* resources)
      EXCLUDES(mutex_);

 private:
  struct Held {
    int64_t bytes = 0;
    int node = -1;  // in the program; -1: not known
    bool is_variable = false;
    DType dtype = DType::kInvalid;
    Shape shape;
  };

  void Add(const Tensor& value, int node, bool is_variable) REQUIRES(mutex_);
  void AddResource(const Tensor& value, int node) REQUIRES(mutex_);
  void AddVariables(const Program& program, const ResourceManager& resources) REQUIRES(mutex_);
  std::string Words(const Program& program) const REQUIRES(mutex_);

  std::atomic<bool> wanted_{false};
  Mutex mutex_;
  const Allocator* allocator_ GUARDED_BY(mutex_) = nullptr;
  bool is_host_ GUARDED_BY(mutex_) = false;
  std::string device_ GUARDED_BY(mutex_);
  AllocatorStats stats_ GUARDED_BY(mutex_);
  std::unordered_map<const void*, Held> held_ GUARDED_BY(mutex_);  // by where the bytes are
};

}  // namespace thalweg
