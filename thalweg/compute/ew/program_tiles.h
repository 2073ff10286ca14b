// SPDX-License-Identifier: Apache-2.0
// RunTiles: a plan over the elements of one shape, tile by tile and shard by shard. Private to
// compute/ew.
#pragma once

#include <span>
#include <vector>

#include "thalweg/compute/ew/program_plan.h"

namespace thalweg::compute {

// How externals lie in the result: neighbouring dimensions that all walk alike are merged.
class EwWalk {
 public:
  EwWalk(std::span<const int64_t> dims, const std::vector<std::span<const int64_t>>& operands);

  int operands() const { return static_cast<int>(dense_.size()); }
  int rank() const { return sizes_.size(); }
  int64_t elements() const { return elements_; }
  int64_t inner() const { return sizes_[rank() - 1]; }
  int64_t size(int dim) const { return sizes_[dim]; }
  int64_t stride(int operand, int dim) const { return strides_[static_cast<size_t>(operand)][dim]; }
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
  int64_t elements_ = 1;
  Dims sizes_;
  std::vector<Dims> strides_;
  std::vector<bool> dense_;
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
