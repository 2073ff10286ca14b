// SPDX-License-Identifier: Apache-2.0
// RunTiles: a plan over the elements of one shape, tile by tile and shard by shard. Private to
// compute/ew.
// Ownership: plan, walk, operands and flags are the caller's.
// Threads: any, each with its own Work; flags are set by several shards.
// Errors: those of work.h; what loops have to say is in `flags`.
#pragma once

#include <bitset>
#include <span>
#include <vector>

#include "thalweg/compute/program/program_plan.h"

namespace thalweg::compute {

// How externals lie in the result: neighboring dimensions that all walk alike are merged.
class EwWalk {
 public:
  static constexpr int kMostOperands = EwProgram::kMostInputs + EwProgram::kMostInstructions;
  EwWalk(std::span<const int64_t> dims, std::span<const std::span<const int64_t>> operands);

  int operands() const { return operands_; }
  int rank() const { return sizes_.size(); }
  int64_t elements() const { return elements_; }
  int64_t inner() const { return sizes_[0]; }
  int64_t size(int dim) const { return sizes_[rank() - 1 - dim]; }
  int64_t stride(int operand, int dim) const {
    const auto i = static_cast<size_t>(rank() - 1 - dim) * static_cast<size_t>(operands_) +
                   static_cast<size_t>(operand);
    return i < kFew ? few_[i] : many_[i - kFew];
  }
  int64_t inner_stride(int operand) const { return stride(operand, rank() - 1); }
  // It has an element of its own for every element of the result.
  bool IsDense(int operand) const { return dense_[static_cast<size_t>(operand)]; }
  bool IsConstant(int operand) const { return RepeatsRow(operand) && inner_stride(operand) == 0; }
  // It is the same in every row.
  bool RepeatsRow(int operand) const;

  // Rows are so short that operands are spread over tiles of many.
  bool Gathers() const { return rank() > 1 && inner() < 96; }
  // What a plan must take for a scalar: see EwPart::scalar.
  bool IsScalar(int operand) const {
    return Gathers() ? IsConstant(operand) : inner_stride(operand) == 0;
  }

 private:
  static constexpr size_t kFew = 128;
  void AddStride(int64_t stride);

  const int operands_;
  int64_t elements_ = 1;
  Dims sizes_;  // the fastest first
  // By dimension, the fastest first, and operand: the first few, the others.
  size_t strides_ = 0;
  int64_t few_[kFew];
  std::vector<int64_t> many_;
  std::bitset<kMostOperands> dense_;
};

// flags: one for each of the plan's, ored.
Status RunTiles(Work& work, const EwPlan& plan, const EwWalk& walk,
                std::span<const void* const> externals, std::span<void* const> outputs,
                std::span<std::atomic<uint32_t>> flags);
// The same for operands that are dense or constant, without a walk.
Status RunFlatTiles(Work& work, const EwPlan& plan, int64_t n, uint64_t scalars,
                    std::span<const void* const> externals, std::span<void* const> outputs,
                    std::span<std::atomic<uint32_t>> flags);

}  // namespace thalweg::compute
