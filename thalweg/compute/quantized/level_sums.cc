// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/quantized/level_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/compute/isa/leaf.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrainOfSums = 16384;
constexpr int64_t kPanel = 32;      // columns of the widest tiles
constexpr int64_t kTogether = 384;  // elements, at most, of short rows that are taken as one

// Rows of sums and what they become.
struct SumRows {
  SumTile tile;
  const float *scales, *shifts;
  const void* summand;
  float summand_scale, least, most;
  void* to;
  int64_t stride;
};

// Summand: its type, or void.
template <class T, class Summand>
struct RequantizeRows {
  [[gnu::always_inline]] static void Run(const SumRows& r) {
    for (int64_t i = 0; i < r.tile.rows; ++i) {
      // A known number of columns needs no loop for what is left over.
      if (r.tile.columns == kPanel) {
        Row(r, i, kPanel);
      } else {
        Row(r, i, r.tile.columns);
      }
    }
  }
  [[gnu::always_inline]] static void Row(const SumRows& r, int64_t i, int64_t n) {
    const int32_t* const sums = r.tile.sums + i * r.tile.stride;
    const float *const scales = r.scales, *const shifts = r.shifts;
    const float by = r.summand_scale, least = r.least, most = r.most;
    const void* const summand = r.summand;
    const int64_t at = i * r.stride;
    T* const to = static_cast<T*>(r.to) + at;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      float level = static_cast<float>(sums[j]) * scales[j];
      if constexpr (!std::is_void_v<Summand>) {
        level += static_cast<float>(static_cast<const Summand*>(summand)[at + j]) * by;
      }
      level += shifts[j];
      level = level > least ? level : least;
      to[j] = static_cast<T>(static_cast<int32_t>(std::nearbyint(level < most ? level : most)));
    }
  }
};

struct RealRows {
  [[gnu::always_inline]] static void Run(const SumRows& r) {
    for (int64_t i = 0; i < r.tile.rows; ++i) {
      const int32_t* const sums = r.tile.sums + i * r.tile.stride;
      const float* const bias = r.shifts;
      const float scale = r.scales[0];
      auto* const to = static_cast<float*>(r.to) + i * r.stride;
#pragma GCC ivdep
      for (int64_t j = 0; j < r.tile.columns; ++j) {
        to[j] = static_cast<float>(sums[j]) * scale + bias[j];
      }
    }
  }
};

template <class T>
void RunRequantize(const IsaTable& isa, DType summand, const SumRows& rows) {
  if (rows.summand == nullptr) {
    RunWideLeaf<RequantizeRows<T, void>>(isa, rows);
  } else if (summand == DType::kQint8) {
    RunWideLeaf<RequantizeRows<T, int8_t>>(isa, rows);
  } else {
    RunWideLeaf<RequantizeRows<T, uint8_t>>(isa, rows);
  }
}

}  // namespace

RequantizedSums::RequantizedSums(const IsaTable& isa, const RequantizeRule& rule, DType dtype,
                                 void* to)
    : isa_(isa), rule_(rule), dtype_(dtype), to_(to) {
  if (rule.channels == 0 || rule.channels >= kPanel) return;
  together_ = kTogether / rule.channels;
  for (int64_t i = 0; i < together_; ++i) {
    scales_.insert(scales_.end(), rule.scales, rule.scales + rule.channels);
    shifts_.insert(shifts_.end(), rule.shifts, rule.shifts + rule.channels);
  }
  rule_.scales = scales_.data();
  rule_.shifts = shifts_.data();
}

void RequantizedSums::Take(const SumTile& tile) const {
  const int64_t n = rule_.channels;
  if (together_ == 1 || tile.columns != n) return Rows(tile);
  for (int64_t i = 0; i < tile.rows; i += together_) {
    const int64_t rows = std::min(together_, tile.rows - i);
    int32_t close[kTogether];
    const int32_t* sums = tile.sums + i * tile.stride;
    if (tile.stride != n) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < n; ++j) close[r * n + j] = sums[r * tile.stride + j];
      }
      sums = static_cast<const int32_t*>(close);
    }
    Rows({.row = tile.row + i, .rows = 1, .columns = rows * n, .sums = sums});
  }
}

void RequantizedSums::Rows(const SumTile& tile) const {
  const int64_t at = tile.row * rule_.channels + tile.column;
  const bool is_signed = dtype_ == DType::kQint8;
  SumRows rows{.tile = tile,
               .scales = rule_.scales + tile.column,
               .shifts = rule_.shifts + tile.column,
               .summand = nullptr,
               .summand_scale = rule_.summand_scale,
               .least = is_signed && !rule_.relu ? -128.0f : 0.0f,
               .most = is_signed ? 127.0f : 255.0f,
               .to = static_cast<uint8_t*>(to_) + at,
               .stride = rule_.channels};
  if (rule_.summand != nullptr) rows.summand = static_cast<const uint8_t*>(rule_.summand) + at;
  if (is_signed) {
    RunRequantize<int8_t>(isa_, rule_.summand_type, rows);
  } else {
    RunRequantize<uint8_t>(isa_, rule_.summand_type, rows);
  }
}

void RealSums::Take(const SumTile& tile) const {
  const SumRows rows{.tile = tile,
                     .scales = &scale_,
                     .shifts = bias_ + tile.column,
                     .summand = nullptr,
                     .summand_scale = 0,
                     .least = 0,
                     .most = 0,
                     .to = to_ + tile.row * channels_ + tile.column,
                     .stride = channels_};
  RunWideLeaf<RealRows>(isa_, rows);
}

Status TakeSums(Work& work, int64_t rows, int64_t columns, const int32_t* sums,
                const LevelSums& to) {
  const int64_t grain = std::max<int64_t>(1, kGrainOfSums / std::max<int64_t>(1, columns));
  return ForBlocks(work, rows, grain, [&](int64_t begin, int64_t end) {
    to.Take({.row = begin,
             .rows = end - begin,
             .columns = columns,
             .sums = sums + begin * columns,
             .stride = columns});
  });
}

}  // namespace thalweg::compute
