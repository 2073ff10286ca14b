// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/bfloat16_product.h"

#include <algorithm>

#include "thalweg/compute/inline_work.h"

namespace thalweg::compute {
namespace {

using namespace bfloat16;  // NOLINT: all of it

constexpr int64_t kRowGroups = 8;       // of one shard
constexpr int64_t kColumnGroups = 16;   // whose sums stay in the second-level cache
constexpr int64_t kManyShards = 4;      // keep threads busy
constexpr int64_t kGroupsTogether = 4;  // are packed side by side

Status Pack(Work& work, Side side, const Vectors& from, uint16_t* to) {
  const Packed packed{to, CeilDiv(from.k, kStep), from.count};
  return ForBlocks(
      work, CeilDiv(from.count, kGroup), kGroupsTogether,
      [&](int64_t begin, int64_t end) { PackGroups(side, from, begin, end, packed, 0); });
}

// A product of packed operands.
struct Product {
  const GemmShape& s;
  Bfloat16Unit unit;
  Packed b;
  uint16_t* c;
  const GemmEpilogue& epilogue;
  int64_t steps;

  // The groups [row, row_end) of a, packed from `row` on, times [column, column_end) of b, of which
  // at most kRowGroups and kColumnGroups. `sums` has room for those of all pairs, or of one where
  // there is one pass.
  void Multiply(const Packed& a, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
                float* sums) const {
    int64_t lines[kGroup];
    for (int64_t r = 0; r < kGroup; ++r) lines[r] = r * s.c_stride;
    for (int64_t step = 0; step < steps; step += kDepthSteps) {
      const int64_t end = std::min(step + kDepthSteps, steps);
      for (int64_t j = column; j < column_end; ++j) {
        const int64_t columns = std::min(kGroup, s.n - j * kGroup);
        for (int64_t i = row; i < row_end; ++i) {
          const int64_t rows = std::min(kGroup, s.m - i * kGroup);
          float* const to =
              steps <= kDepthSteps ? sums : sums + ((i - row) * kColumnGroups + j - column) * kSums;
          const int64_t at = i * kGroup * s.c_stride + j * kGroup;
          // What is written after these sums comes while they are made.
          for (int64_t r = 0; r < rows && end == steps; ++r) {
            __builtin_prefetch(c + at + r * s.c_stride, 1);
          }
          SumsOf(unit, a.Blocks(i - row), b.Blocks(j))(end - step, a.At(i - row, step),
                                                       b.At(j, step), step > 0, to);
          if (end < steps) continue;
          const auto* bias = static_cast<const uint16_t*>(epilogue.bias);
          const auto* residual = static_cast<const uint16_t*>(epilogue.residual);
          const Finish finish{bias != nullptr ? bias + j * kGroup : nullptr,
                              residual != nullptr ? residual + at : nullptr, epilogue.relu};
          finish.Write(to, rows, columns, lines, c + at);
        }
      }
    }
  }
};

int64_t PackedElements(int64_t vectors, int64_t k) {
  int64_t elements;
  if (vectors > INT64_MAX - 64 || k > INT64_MAX - 64 ||
      __builtin_mul_overflow(CeilDiv(vectors, 16) * 16, CeilDiv(k, kStep) * kStep, &elements)) {
    return -1;
  }
  return elements;
}

}  // namespace

int64_t PackedBfloat16Bytes(int64_t n, int64_t k) {
  const int64_t elements = PackedElements(n, k);
  return elements > INT64_MAX / 2 ? -1 : elements * 2;
}

Status PackBfloat16(Work& work, const GemmShape& s, const void* b, void* packed) {
  const Vectors columns{static_cast<const uint16_t*>(b), s.b_stride, s.b != Transpose::kNo, s.n,
                        s.k};
  return Pack(work, Side::kB, columns, static_cast<uint16_t*>(packed));
}

Status Bfloat16Gemm(Work& work, Bfloat16Unit unit, const GemmShape& s, const void* a, const void* b,
                    const void* packed, void* c, const GemmEpilogue& epilogue) {
  const bool together = s.a == Transpose::kNo;
  const int64_t row_groups = CeilDiv(s.m, kGroup), column_groups = CeilDiv(s.n, kGroup);
  const int64_t down = CeilDiv(row_groups, kRowGroups);
  // Few rows are cut by columns, too, and packed beforehand; else each shard packs its own.
  const int64_t wide = down >= kManyShards ? column_groups : kColumnGroups;
  const int64_t across = CeilDiv(column_groups, wide);
  const int64_t a_size = PackedElements(across > 1 ? s.m : std::min(s.m, kRowGroups * kGroup), s.k);
  const int64_t b_size = PackedElements(s.n, s.k);
  if (a_size < 0 || b_size < 0) return OutOfScratch();
  Scratch<uint16_t> a_whole(work, across > 1 ? a_size : 0);
  Scratch<uint16_t> b_packed(work, packed != nullptr ? 0 : b_size);
  if (!a_whole || !b_packed) return OutOfScratch();
  const auto* rows = static_cast<const uint16_t*>(a);
  if (across > 1) {
    RETURN_IF_ERROR(Pack(work, Side::kA, {rows, s.a_stride, together, s.m, s.k}, a_whole.get()));
  }
  if (packed == nullptr) RETURN_IF_ERROR(PackBfloat16(work, s, b, b_packed.get()));
  const auto* columns = packed != nullptr ? static_cast<const uint16_t*>(packed) : b_packed.get();
  const int64_t steps = CeilDiv(s.k, kStep);
  const Product product{s, unit, {columns, steps, s.n}, static_cast<uint16_t*>(c), epilogue, steps};
  return ForShards(work, down * across, [&](int64_t shard) {
    const int64_t row = shard / across * kRowGroups, first = shard % across * wide;
    const int64_t row_end = std::min(row + kRowGroups, row_groups);
    const int64_t last = std::min(first + wide, column_groups);
    const bool one_pass = product.steps <= kDepthSteps;
    Scratch<uint16_t> a_own(work, across > 1 ? 0 : a_size);
    Scratch<float> sums(work, one_pass ? kSums : (row_end - row) * kColumnGroups * kSums);
    if (!a_own || !sums) return false;
    Packed a_packed{a_own.get(), steps, s.m - row * kGroup};
    if (across > 1) a_packed.data = a_whole.get() + row * kGroup * steps * kStep;
    if (across == 1) {
      InlineWork inner(work);
      const Vectors own{rows + row * kGroup * (together ? s.a_stride : 1), s.a_stride, together,
                        std::min(s.m - row * kGroup, kRowGroups * kGroup), s.k};
      if (!Pack(inner, Side::kA, own, a_own.get()).ok()) return true;  // cancelled
    }
    const TileSetting setting(unit == Bfloat16Unit::kTiles);
    for (int64_t column = first; column < last && !work.cancelled(); column += kColumnGroups) {
      product.Multiply(a_packed, row, row_end, column, std::min(column + kColumnGroups, last),
                       sums.get());
    }
    return true;
  });
}

}  // namespace thalweg::compute
