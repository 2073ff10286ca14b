// SPDX-License-Identifier: Apache-2.0
// Accumulator: adds up gradients of several steps until somebody takes their mean or sum. Gradients
// of steps before the accumulator's own global step are stale and dropped; each take moves that
// step on by one. Takes wait, in their order, until enough gradients are there.
// Ownership: shared by the container and who waits; it owns the sum until a take moves it out.
// Threads: any.
// Errors: InvalidArgument when dtype or shape of a gradient is not the accumulator's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "thalweg/resources/waiter_queues.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class Accumulator : public WaiterQueues {
 public:
  struct Spec {
    std::string name;
    DType dtype = DType::kFloat;
    PartialShape shape;
    bool is_mean = true;
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  // A take; what it took is in `parts`, one for each output.
  struct Take : Waiter {
    Take(Context& c, Done d, int64_t n) : Waiter(0, c, std::move(d)), required(n) {}
    const int64_t required;
    std::vector<Tensor> parts;
    int64_t count = 0;
  };

  explicit Accumulator(Spec spec) : WaiterQueues({Order::kFirst}), spec_(std::move(spec)) {}
  const Spec& spec() const { return spec_; }
  int64_t count() const EXCLUDES(mutex_);
  void SetGlobalStep(int64_t step) EXCLUDES(mutex_);
  std::string DebugString() const override;

 protected:
  // Adds one gradient of a step, by calling Add under the lock, unless it is stale.
  Status Apply(Context& ctx, int64_t step) EXCLUDES(mutex_);
  virtual Status Add(Context& ctx, bool is_first) REQUIRES(mutex_) = 0;
  virtual void MoveSum(Take& take) REQUIRES(mutex_) = 0;

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_);

  const Spec spec_;
  int64_t global_step_ GUARDED_BY(mutex_) = 0;
  int64_t count_ GUARDED_BY(mutex_) = 0;
};

// An accumulator of whole tensors: inputs handle, step, gradient; output the average.
class DenseAccumulator final : public Accumulator {
 public:
  using Accumulator::Accumulator;
  Status ApplyGradient(Context& ctx) EXCLUDES(mutex_);

 private:
  Status Add(Context& ctx, bool is_first) override REQUIRES(mutex_);
  void MoveSum(Take& take) override REQUIRES(mutex_);
  Status Finish(Waiter& waiter) override;

  Tensor sum_ GUARDED_BY(mutex_);
};

// One of rows: inputs handle, step, indices, values, shape; outputs indices in ascending order,
// values, shape. The mean of a row is that of the gradients which have it.
class SparseAccumulator final : public Accumulator {
 public:
  using Accumulator::Accumulator;
  Status ApplyGradient(Context& ctx, bool has_known_shape) EXCLUDES(mutex_);

 private:
  struct Row {
    Tensor sum;
    int64_t count = 0;      // gradients that have it
    int64_t last_from = 0;  // the last of them
  };
  struct TakenRows;
  Status Add(Context& ctx, bool is_first) override REQUIRES(mutex_);
  void MoveSum(Take& take) override REQUIRES(mutex_);
  Status Finish(Waiter& waiter) override;

  std::map<int64_t, Row> rows_ GUARDED_BY(mutex_);
  PartialShape shape_ GUARDED_BY(mutex_);  // of all gradients so far
  int64_t gradients_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
