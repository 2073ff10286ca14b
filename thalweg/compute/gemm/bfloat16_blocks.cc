// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/gemm/bfloat16_blocks.h"

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>

#include "thalweg/compute/isa/components.h"
#include "thalweg/compute/isa/tiles.h"

#define THALWEG_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl")
#define THALWEG_PAIRS gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#define THALWEG_TILES gnu::target("amx-tile,amx-bf16")

namespace thalweg::compute {
namespace {

using namespace bfloat16;  // NOLINT: what the header declares there

// __builtin_cpu_supports does not know the word in every compiler.
Bfloat16Unit AskProcessor() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned kPairs = 1u << 5;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kPairs) == 0) {
    return Bfloat16Unit::kNone;
  }
  return HasTiles(TileKind::kBfloat16) ? Bfloat16Unit::kTiles : Bfloat16Unit::kPairs;
}

[[THALWEG_AVX512, gnu::always_inline]] inline void TransposePairs(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// One block, of vectors [first, first + 16) and elements [k, k + 32); zeros where there are none.
template <bool kPairRows>
[[THALWEG_AVX512]] void PackOne(const Vectors& from, int64_t first, int64_t k, uint16_t* to) {
  const int64_t vectors = std::min<int64_t>(16, from.count - first);
  const int64_t depth = std::min(kStep, from.k - k);
  __m512i rows[16];
  if (from.together) {
    const auto mask = static_cast<__mmask32>(~0u >> (kStep - depth));
    const uint16_t* at = from.data + first * from.stride + k;
    for (int64_t v = 0; v < 16; ++v, at += from.stride) {
      rows[v] = v < vectors ? _mm512_maskz_loadu_epi16(mask, at) : _mm512_setzero_si512();
    }
  } else {
    const auto mask = static_cast<__mmask16>(0xffff >> (16 - vectors));
    const uint16_t* at = from.data + k * from.stride + first;
    for (int64_t p = 0; p < 16; ++p, at += 2 * from.stride) {
      const __mmask16 low = 2 * p < depth ? mask : 0, high = 2 * p + 1 < depth ? mask : 0;
      const __m256i even = low == 0 ? _mm256_setzero_si256() : _mm256_maskz_loadu_epi16(low, at);
      const __m256i odd =
          high == 0 ? _mm256_setzero_si256() : _mm256_maskz_loadu_epi16(high, at + from.stride);
      rows[p] = _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                                _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
    }
  }
  if (from.together == kPairRows) TransposePairs(rows);
  for (int64_t r = 0; r < 16; ++r) _mm512_storeu_si512(to + r * kStep, rows[r]);
}

// A: blocks of a and of b in each step.
template <int A, int B>
[[THALWEG_TILES, gnu::noinline]] void SumTiles(int64_t steps, const uint16_t* a, const uint16_t* b,
                                               bool add, float* sums) {
  constexpr int64_t kRow = kGroup * sizeof(float), kHalf = 16;
  float* const below = sums + kHalf * kGroup;
  if (add) {
    _tile_loadd(0, sums, kRow);
    if constexpr (B == 2) _tile_loadd(1, sums + kHalf, kRow);
    if constexpr (A == 2) _tile_loadd(2, below, kRow);
    if constexpr (A == 2 && B == 2) _tile_loadd(3, below + kHalf, kRow);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t s = 0; s < steps; ++s, a += A * kBlock, b += B * kBlock) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (B == 2) {
      _tile_loadd(7, b + kBlock, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (A == 2) {
      _tile_loadd(5, a + kBlock, 64);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (A == 2 && B == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, kRow);
  if constexpr (B == 2) _tile_stored(1, sums + kHalf, kRow);
  if constexpr (A == 2) _tile_stored(2, below, kRow);
  if constexpr (A == 2 && B == 2) _tile_stored(3, below + kHalf, kRow);
}

template <int A, int B>
[[THALWEG_PAIRS]] void SumPairs(int64_t steps, const uint16_t* a, const uint16_t* b, bool add,
                                float* sums) {
  constexpr int kRows = 8;
  for (int64_t first = 0; first < 16 * A; first += kRows, sums += kRows * kGroup) {
    __m512 sum[kRows][B];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < B; ++j) {
        sum[r][j] = add ? _mm512_loadu_ps(sums + r * kGroup + 16 * j) : _mm512_setzero_ps();
      }
    }
    const uint16_t* row = a + first * kStep;
    const uint16_t* column = b;
    for (int64_t s = 0; s < steps; ++s, row += A * kBlock, column += B * kBlock) {
      for (int64_t p = 0; p < 16; ++p) {
        __m512bh right[B];
#pragma GCC unroll 2
        for (int j = 0; j < B; ++j) {
          right[j] = (__m512bh)_mm512_loadu_si512(column + j * kBlock + p * kStep);
        }
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          int32_t pair;
          __builtin_memcpy(&pair, row + r * kStep + 2 * p, sizeof pair);
          const auto left = (__m512bh)_mm512_set1_epi32(pair);
#pragma GCC unroll 2
          for (int j = 0; j < B; ++j) sum[r][j] = _mm512_dpbf16_ps(sum[r][j], left, right[j]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < B; ++j) _mm512_storeu_ps(sums + r * kGroup + 16 * j, sum[r][j]);
    }
  }
}

// [blocks of a - 1][blocks of b - 1]
constexpr SumsFn kSumTiles[2][2] = {{SumTiles<1, 1>, SumTiles<1, 2>},
                                    {SumTiles<2, 1>, SumTiles<2, 2>}};
constexpr SumsFn kSumPairs[2][2] = {{SumPairs<1, 1>, SumPairs<1, 2>},
                                    {SumPairs<2, 1>, SumPairs<2, 2>}};

[[THALWEG_AVX512, gnu::always_inline]] inline __m512 Widen(__mmask16 mask, const uint16_t* from) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16));
}

[[THALWEG_AVX512, gnu::always_inline]] inline __m512 BelowZeroIsZero(__m512 v) {
  const __mmask16 below = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ);
  return _mm512_mask_mov_ps(v, below, _mm512_setzero_ps());
}

// The same as Finish::Write where there are all columns: whole lines at once.
[[THALWEG_PAIRS]] void WriteLines(const Finish& how, const float* sums, int64_t rows,
                                  const int64_t* at, uint16_t* c) {
  constexpr __mmask16 kAll = 0xffff;
  const __m512 zero = _mm512_setzero_ps();
  const __m512 term0 = how.bias != nullptr ? Widen(kAll, how.bias) : zero;
  const __m512 term1 = how.bias != nullptr ? Widen(kAll, how.bias + 16) : zero;
  for (int64_t r = 0; r < rows; ++r, sums += kGroup) {
    __m512 v0 = _mm512_loadu_ps(sums), v1 = _mm512_loadu_ps(sums + 16);
    if (how.bias != nullptr) {
      v0 = _mm512_add_ps(v0, term0);
      v1 = _mm512_add_ps(v1, term1);
    }
    if (how.residual != nullptr) {
      v0 = _mm512_add_ps(v0, Widen(kAll, how.residual + at[r]));
      v1 = _mm512_add_ps(v1, Widen(kAll, how.residual + at[r] + 16));
    }
    if (how.relu) {
      v0 = BelowZeroIsZero(v0);
      v1 = BelowZeroIsZero(v1);
    }
    _mm512_storeu_si512(c + at[r], (__m512i)_mm512_cvtne2ps_pbh(v1, v0));
  }
}

[[THALWEG_PAIRS]] void WriteSome(const Finish& how, const float* sums, int64_t rows,
                                 int64_t columns, const int64_t* at, uint16_t* c) {
  for (int64_t first = 0; first < columns; first += 16) {
    const int64_t count = std::min<int64_t>(16, columns - first);
    const auto mask = static_cast<__mmask16>(0xffff >> (16 - count));
    const __m512 term = how.bias != nullptr ? Widen(mask, how.bias + first) : _mm512_setzero_ps();
    for (int64_t r = 0; r < rows; ++r) {
      __m512 v = _mm512_loadu_ps(sums + r * kGroup + first);
      if (how.bias != nullptr) v = _mm512_add_ps(v, term);
      if (how.residual != nullptr) v = _mm512_add_ps(v, Widen(mask, how.residual + at[r] + first));
      if (how.relu) v = BelowZeroIsZero(v);
      _mm256_mask_storeu_epi16(c + at[r] + first, mask, (__m256i)_mm512_cvtneps_pbh(v));
    }
  }
}

[[THALWEG_AVX512]] void PackSixteen(const uint16_t* const* vectors, int64_t at, int64_t depth,
                                    uint16_t* to) {
  const auto mask = static_cast<__mmask32>(~0u >> (kStep - depth));
  for (int64_t v = 0; v < 16; ++v) {
    _mm512_storeu_si512(to + v * kStep, _mm512_maskz_loadu_epi16(mask, vectors[v] + at));
  }
}

[[THALWEG_AVX512]] void PackPairs(const uint16_t* const* rows, int64_t at, int64_t count,
                                  uint16_t* to) {
  const auto mask = static_cast<__mmask16>(0xffff >> (16 - count));
  for (int64_t p = 0; p < 16; ++p) {
    const __m256i even = _mm256_maskz_loadu_epi16(mask, rows[2 * p] + at);
    const __m256i odd = _mm256_maskz_loadu_epi16(mask, rows[2 * p + 1] + at);
    _mm512_storeu_si512(to + p * kStep,
                        _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                                        _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16)));
  }
}

[[THALWEG_PAIRS]] void WriteColumns(const float* sums, int64_t rows, int64_t columns,
                                    int64_t stride, uint16_t* c) {
  for (int64_t first = 0; first < columns; first += 16) {
    for (int64_t row = 0; row < rows; row += 16) {
      const auto mask = static_cast<__mmask16>(0xffff >> (16 - std::min<int64_t>(16, rows - row)));
      __m512i v[16];
      for (int64_t i = 0; i < 16; ++i) {
        v[i] = _mm512_loadu_si512(sums + (row + i) * kGroup + first);
      }
      TransposePairs(v);
      for (int64_t j = 0; j < std::min<int64_t>(16, columns - first); ++j) {
        _mm256_mask_storeu_epi16(c + (first + j) * stride + row, mask,
                                 (__m256i)_mm512_cvtneps_pbh(_mm512_castsi512_ps(v[j])));
      }
    }
  }
}

}  // namespace

Bfloat16Unit Bfloat16UnitOf(const IsaTable& isa) {
  if (isa.level < IsaLevel::kAvx512 || !MayUseComponents(isa)) return Bfloat16Unit::kNone;
  static const Bfloat16Unit unit = AskProcessor();
  return unit;
}

namespace bfloat16 {

void PackGroups(Side side, const Vectors& from, int64_t begin, int64_t end, const Packed& to,
                int64_t at) {
  const auto pack = side == Side::kB ? PackOne<true> : PackOne<false>;
  const int64_t steps = CeilDiv(from.k, kStep);
  for (int64_t s = 0; s < steps; ++s) {
    for (int64_t g = begin; g < end; ++g) {
      auto* const group = const_cast<uint16_t*>(to.At(g, at + s));
      for (int64_t i = 0; i < to.Blocks(g); ++i) {
        pack(from, g * kGroup + 16 * i, s * kStep, group + i * kBlock);
      }
    }
  }
}

void PackRows(const uint16_t* const* vectors, int64_t at, int64_t depth, uint16_t* to) {
  PackSixteen(vectors, at, depth, to);
}

void PackColumns(const uint16_t* const* rows, int64_t at, int64_t count, uint16_t* to) {
  PackPairs(rows, at, count, to);
}

SumsFn SumsOf(Bfloat16Unit unit, int64_t a_blocks, int64_t b_blocks) {
  return (unit == Bfloat16Unit::kTiles ? kSumTiles : kSumPairs)[a_blocks - 1][b_blocks - 1];
}

void Finish::Write(const float* sums, int64_t rows, int64_t columns, const int64_t* at,
                   uint16_t* c) const {
  if (columns == kGroup) return WriteLines(*this, sums, rows, at, c);
  WriteSome(*this, sums, rows, columns, at, c);
}

void WriteTransposed(const float* sums, int64_t rows, int64_t columns, int64_t stride,
                     uint16_t* c) {
  WriteColumns(sums, rows, columns, stride, c);
}

}  // namespace bfloat16
}  // namespace thalweg::compute
