// SPDX-License-Identifier: Apache-2.0
// Levels: integers that stand for reals of a range. The lowest level of a type means the range's
// low end, the highest its high end.
//
//   const QuantizeGrid grid = MakeQuantizeGrid({QuantizeMode::kScaled}, DType::kQint8, {-1, 2}, 0);
//   RETURN_IF_ERROR(Quantize(work, DType::kQint8, {.inner = n}, &grid, x, levels));
//
// Types: qint8, quint8, qint16, quint16, qint32. Arithmetic is TensorFlow's (float, or double where
// it uses that), so that ties fall on the same side. What does not fit saturates; NaN becomes the
// lowest level.
// Ownership: operands are the caller's; grids are values.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/ew/quantize.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

struct RealRange {
  float low = 0, high = 0;
};

// kMinCombined: (x - low) / step, rounded. kMinFirst: x / step and low / step rounded each, so that
// zero is a level. kScaled: the range is made symmetric (from zero for unsigned types), level 0 is
// 0.
enum class QuantizeMode : uint8_t { kMinCombined, kMinFirst, kScaled };

struct QuantizeRule {
  QuantizeMode mode = QuantizeMode::kMinCombined;
  bool half_to_even = false;  // kScaled only; else ties go away from zero
  bool narrow = false;        // kScaled only: without the lowest level
};

// Lowest and highest level of a type.
struct LevelRange {
  int64_t lowest = 0, highest = 0;
  int64_t steps() const { return highest - lowest; }
};
LevelRange LevelsOf(DType dtype);

// The range that is used, which the caller reports, and how levels follow from it.
struct QuantizeGrid {
  QuantizeRule rule;
  RealRange range;
  float scale = 0;  // levels per unit
};

// `range` grows to hold 0 and to be no narrower than `least` times the greater of 1 and its ends;
// kScaled then makes it what the levels can hold.
QuantizeGrid MakeQuantizeGrid(const QuantizeRule& rule, DType dtype, RealRange range, float least);

// grids[c] is that of channel c.
Status Quantize(Work& work, DType dtype, const GridShape& shape, const QuantizeGrid* grids,
                const float* x, void* levels);
// out is of float.
Status Dequantize(Work& work, DType dtype, const QuantizeRule& rule, const GridShape& shape,
                  const RealRange* ranges, const void* levels, float* out);

// What one level means, as kMinFirst has it: low is rounded to a whole number of steps.
double RealOfLevel(DType dtype, RealRange range, int64_t level);
// The level of x as kMinFirst has it, which may lie outside of the type's; an empty range gives the
// lowest.
int64_t LevelOfReal(DType dtype, RealRange range, double x);
inline int64_t ZeroLevel(DType dtype, RealRange range) { return LevelOfReal(dtype, range, 0); }

// out[i] = levels[i] - offset, wrapping: what integer products and sums are taken of.
Status WidenLevels(Work& work, DType dtype, int64_t n, int64_t offset, const void* levels,
                   int32_t* out);
// out[i] = the qint32 level in `to` of an 8 bit level in `from`.
Status WidenLevelsTo(Work& work, DType dtype, int64_t n, RealRange from, RealRange to,
                     const void* levels, int32_t* out);
// out[i] = the level in `to` of a level in `from`, of the same type.
Status MoveLevels(Work& work, DType dtype, int64_t n, RealRange from, RealRange to,
                  const void* levels, void* out);

}  // namespace thalweg::compute
