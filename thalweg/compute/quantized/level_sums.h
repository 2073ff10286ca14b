// SPDX-License-Identifier: Apache-2.0
// What becomes of products of levels: narrower levels, or reals. Made from each tile of a product
// while that is in the first-level cache, or from sums that lie in memory.
//
//   const RequantizedSums to(work.isa(), rule, DType::kQuint8, out);
//   RETURN_IF_ERROR(LevelProduct(work, {.m = 128, .n = 768, .k = 768}, left, right, to));
//   RETURN_IF_ERROR(TakeSums(work, 128, 768, sums, to));
//
// Computed in float, without fused multiply-adds: bits are the same at every level of instructions.
// A sum that its shift nearly cancels keeps 24 bits, and a scale beyond the floats gives no number.
// Ownership: rules, operands and outputs are the caller's.
// Threads: any; tiles of one product may be taken at once.
// Errors: those of work.h.
#pragma once

#include <vector>

#include "thalweg/compute/quantized/level_product.h"

namespace thalweg::compute {

// sum * scale + summand * summand_scale + shift, channel by channel (columns), rounded to even and
// clamped to the type's levels; no number becomes the lowest.
struct RequantizeRule {
  int64_t channels = 1;
  const float* scales = nullptr;  // [channels]
  const float* shifts = nullptr;  // [channels]
  DType summand_type = DType::kInvalid;
  const void* summand = nullptr;  // qint8 or quint8, laid out like the sums, or null
  float summand_scale = 0;
  bool relu = false;
};
class RequantizedSums final : public LevelSums {
 public:
  // dtype: qint8 or quint8.
  RequantizedSums(const IsaTable& isa, const RequantizeRule& rule, DType dtype, void* to);
  RequantizedSums(const RequantizedSums&) = delete;
  RequantizedSums& operator=(const RequantizedSums&) = delete;
  void Take(const SumTile& tile) const override;

 private:
  void Rows(const SumTile& tile) const;

  const IsaTable& isa_;
  RequantizeRule rule_;
  const DType dtype_;
  void* const to_;
  int64_t together_ = 1;                // so many short rows are taken as one
  std::vector<float> scales_, shifts_;  // those of so many rows
};

// sum * scale + bias[column]
class RealSums final : public LevelSums {
 public:
  RealSums(const IsaTable& isa, int64_t channels, float scale, const float* bias, float* to)
      : isa_(isa), channels_(channels), scale_(scale), bias_(bias), to_(to) {}
  void Take(const SumTile& tile) const override;

 private:
  const IsaTable& isa_;
  const int64_t channels_;
  const float scale_;
  const float* const bias_;
  float* const to_;
};

// Sums [rows, columns] in memory.
Status TakeSums(Work& work, int64_t rows, int64_t columns, const int32_t* sums,
                const LevelSums& to);

}  // namespace thalweg::compute
