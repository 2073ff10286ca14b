// SPDX-License-Identifier: Apache-2.0
// Both operands are packed in groups of 32 vectors (rows of a, columns of b), and these in steps of
// 32 elements: one block of 16 x 16 pairs for each 16 vectors. A block of a has a row of pairs for
// each vector, one of b has a row of vectors for each pair, as tiles want them.
#include "thalweg/compute/gemm/bfloat16_product.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "thalweg/compute/inline_work.h"
#include "thalweg/compute/isa/components.h"

#define THALWEG_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl")
#define THALWEG_PAIRS gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#define THALWEG_TILES gnu::target("amx-tile,amx-bf16")

namespace thalweg::compute {
namespace {

constexpr int64_t kGroup = 32;              // vectors
constexpr int64_t kStep = 32;               // elements of each
constexpr int64_t kBlock = 16 * kStep;      // elements of one block
constexpr int64_t kSums = kGroup * kGroup;  // of two groups
constexpr int64_t kDepthSteps = 32;         // of one pass: two groups stay in the caches
constexpr int64_t kRowGroups = 8;           // of one shard
constexpr int64_t kColumnGroups = 16;       // whose sums stay in the second-level cache
constexpr int64_t kManyShards = 4;          // keep threads busy
constexpr int64_t kGroupsTogether = 4;      // are packed side by side

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool TilesPermitted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// __builtin_cpu_supports does not know these words in every compiler.
Bfloat16Unit AskProcessor() {
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return Bfloat16Unit::kNone;
  constexpr unsigned kTileBfloat16 = 1u << 22, kTile = 1u << 24, kPairs = 1u << 5;
  const bool tiles = (edx & kTileBfloat16) != 0 && (edx & kTile) != 0;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kPairs) == 0) {
    return Bfloat16Unit::kNone;
  }
  return tiles && TilesPermitted() ? Bfloat16Unit::kTiles : Bfloat16Unit::kPairs;
}

// Vectors of a matrix: `count` of them with k elements each.
struct Vectors {
  const uint16_t* data;
  int64_t stride;
  bool together;  // the elements of a vector lie side by side
  int64_t count, k;
};

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

// kPairRows: as b; else as a.
template <bool kPairRows>
Status Pack(Work& work, const Vectors& from, uint16_t* to) {
  const int64_t groups = CeilDiv(from.count, kGroup), steps = CeilDiv(from.k, kStep);
  return ForBlocks(work, groups, kGroupsTogether, [&](int64_t begin, int64_t end) {
    for (int64_t s = 0; s < steps; ++s) {
      for (int64_t g = begin; g < end; ++g) {
        const int64_t first = g * kGroup, blocks = from.count - first > 16 ? 2 : 1;
        uint16_t* const group = to + first * steps * kStep + s * blocks * kBlock;
        for (int64_t i = 0; i < blocks; ++i) {
          PackOne<kPairRows>(from, first + 16 * i, s * kStep, group + i * kBlock);
        }
      }
    }
  });
}

// sums[32 * i + j] (+)= the sum over some steps of vector i of a group of a times j of one of b.
using SumsFn = void (*)(int64_t steps, const uint16_t* a, const uint16_t* b, bool add, float* sums);

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

// Static, for the compiler does not see that more of it is read than the first word.
struct alignas(64) Setting {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Setting kSetting;

// The tiles of one thread, for as long as it lives; those that are configured make what follows in
// the thread dearer.
class TileSetting {
 public:
  [[THALWEG_TILES]] explicit TileSetting(Bfloat16Unit unit) : set_(unit == Bfloat16Unit::kTiles) {
    if (set_) _tile_loadconfig(&kSetting);
  }
  [[THALWEG_TILES]] ~TileSetting() {
    if (set_) _tile_release();
  }
  TileSetting(const TileSetting&) = delete;
  TileSetting& operator=(const TileSetting&) = delete;

 private:
  const bool set_;
};

[[THALWEG_AVX512, gnu::always_inline]] inline __m512 Widen(__mmask16 mask, const uint16_t* from) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16));
}

[[THALWEG_AVX512, gnu::always_inline]] inline __m512 BelowZeroIsZero(__m512 v) {
  const __mmask16 below = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ);
  return _mm512_mask_mov_ps(v, below, _mm512_setzero_ps());
}

// The same as Finish where there are all columns: whole lines at once.
[[THALWEG_PAIRS]] void FinishLines(const float* sums, int64_t rows, const uint16_t* bias,
                                   const uint16_t* residual, bool relu, int64_t stride,
                                   uint16_t* c) {
  constexpr __mmask16 kAll = 0xffff;
  const __m512 zero = _mm512_setzero_ps();
  const __m512 term0 = bias != nullptr ? Widen(kAll, bias) : zero;
  const __m512 term1 = bias != nullptr ? Widen(kAll, bias + 16) : zero;
  for (int64_t r = 0; r < rows; ++r, sums += kGroup, c += stride) {
    __m512 v0 = _mm512_loadu_ps(sums), v1 = _mm512_loadu_ps(sums + 16);
    if (bias != nullptr) {
      v0 = _mm512_add_ps(v0, term0);
      v1 = _mm512_add_ps(v1, term1);
    }
    if (residual != nullptr) {
      v0 = _mm512_add_ps(v0, Widen(kAll, residual + r * stride));
      v1 = _mm512_add_ps(v1, Widen(kAll, residual + r * stride + 16));
    }
    if (relu) {
      v0 = BelowZeroIsZero(v0);
      v1 = BelowZeroIsZero(v1);
    }
    _mm512_storeu_si512(c, (__m512i)_mm512_cvtne2ps_pbh(v1, v0));
  }
}

// rows x columns of the sums of two groups become elements of c.
[[THALWEG_PAIRS]] void Finish(const float* sums, int64_t rows, int64_t columns,
                              const uint16_t* bias, const uint16_t* residual, bool relu,
                              int64_t stride, uint16_t* c) {
  if (columns == kGroup) return FinishLines(sums, rows, bias, residual, relu, stride, c);
  for (int64_t first = 0; first < columns; first += 16) {
    const int64_t count = std::min<int64_t>(16, columns - first);
    const auto mask = static_cast<__mmask16>(0xffff >> (16 - count));
    const __m512 term = bias != nullptr ? Widen(mask, bias + first) : _mm512_setzero_ps();
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * stride + first;
      __m512 v = _mm512_loadu_ps(sums + r * kGroup + first);
      if (bias != nullptr) v = _mm512_add_ps(v, term);
      if (residual != nullptr) v = _mm512_add_ps(v, Widen(mask, residual + at));
      if (relu) v = BelowZeroIsZero(v);
      _mm256_mask_storeu_epi16(c + at, mask, (__m256i)_mm512_cvtneps_pbh(v));
    }
  }
}

// A product of packed operands.
struct Product {
  const GemmShape& s;
  const SumsFn (&sum)[2][2];
  const uint16_t* b;
  uint16_t* c;
  const GemmEpilogue& epilogue;
  int64_t steps;

  // The groups [row, row_end) of a, packed, times [column, column_end) of b, of which at most
  // kRowGroups and kColumnGroups. `sums` has room for those of all pairs, or of one where there is
  // one pass.
  void Multiply(const uint16_t* a, int64_t row, int64_t row_end, int64_t column, int64_t column_end,
                float* sums) const {
    for (int64_t step = 0; step < steps; step += kDepthSteps) {
      const int64_t end = std::min(step + kDepthSteps, steps);
      for (int64_t j = column; j < column_end; ++j) {
        const int64_t columns = std::min(kGroup, s.n - j * kGroup), b_blocks = columns > 16 ? 2 : 1;
        for (int64_t i = row; i < row_end; ++i) {
          const int64_t rows = std::min(kGroup, s.m - i * kGroup), a_blocks = rows > 16 ? 2 : 1;
          float* const to =
              steps <= kDepthSteps ? sums : sums + ((i - row) * kColumnGroups + j - column) * kSums;
          const int64_t at = i * kGroup * s.c_stride + j * kGroup;
          // What is written after these sums comes while they are made.
          for (int64_t r = 0; r < rows && end == steps; ++r) {
            __builtin_prefetch(c + at + r * s.c_stride, 1);
          }
          sum[a_blocks - 1][b_blocks - 1](
              end - step, a + (i - row) * kGroup * steps * kStep + step * a_blocks * kBlock,
              b + j * kGroup * steps * kStep + step * b_blocks * kBlock, step > 0, to);
          if (end < steps) continue;
          const auto* bias = static_cast<const uint16_t*>(epilogue.bias);
          const auto* residual = static_cast<const uint16_t*>(epilogue.residual);
          Finish(to, rows, columns, bias != nullptr ? bias + j * kGroup : nullptr,
                 residual != nullptr ? residual + at : nullptr, epilogue.relu, s.c_stride, c + at);
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

Bfloat16Unit Bfloat16UnitOf(const IsaTable& isa) {
  if (isa.level < IsaLevel::kAvx512 || !MayUseComponents(isa)) return Bfloat16Unit::kNone;
  static const Bfloat16Unit unit = AskProcessor();
  return unit;
}

int64_t PackedBfloat16Bytes(int64_t n, int64_t k) {
  const int64_t elements = PackedElements(n, k);
  return elements > INT64_MAX / 2 ? -1 : elements * 2;
}

Status PackBfloat16(Work& work, const GemmShape& s, const void* b, void* packed) {
  const Vectors columns{static_cast<const uint16_t*>(b), s.b_stride, s.b != Transpose::kNo, s.n,
                        s.k};
  return Pack<true>(work, columns, static_cast<uint16_t*>(packed));
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
    RETURN_IF_ERROR(Pack<false>(work, {rows, s.a_stride, together, s.m, s.k}, a_whole.get()));
  }
  if (packed == nullptr) RETURN_IF_ERROR(PackBfloat16(work, s, b, b_packed.get()));
  const Product product{s,
                        unit == Bfloat16Unit::kTiles ? kSumTiles : kSumPairs,
                        packed != nullptr ? static_cast<const uint16_t*>(packed) : b_packed.get(),
                        static_cast<uint16_t*>(c),
                        epilogue,
                        CeilDiv(s.k, kStep)};
  return ForShards(work, down * across, [&](int64_t shard) {
    const int64_t row = shard / across * kRowGroups, first = shard % across * wide;
    const int64_t row_end = std::min(row + kRowGroups, row_groups);
    const int64_t last = std::min(first + wide, column_groups);
    const bool one_pass = product.steps <= kDepthSteps;
    Scratch<uint16_t> a_own(work, across > 1 ? 0 : a_size);
    Scratch<float> sums(work, one_pass ? kSums : (row_end - row) * kColumnGroups * kSums);
    if (!a_own || !sums) return false;
    const uint16_t* a_packed = a_own.get();
    if (across > 1) a_packed = a_whole.get() + row * kGroup * product.steps * kStep;
    if (across == 1) {
      InlineWork inner(work);
      const Vectors own{rows + row * kGroup * (together ? s.a_stride : 1), s.a_stride, together,
                        std::min(s.m - row * kGroup, kRowGroups * kGroup), s.k};
      if (!Pack<false>(inner, own, a_own.get()).ok()) return true;  // cancelled
    }
    const TileSetting setting(unit);
    for (int64_t column = first; column < last && !work.cancelled(); column += kColumnGroups) {
      product.Multiply(a_packed, row, row_end, column, std::min(column + kColumnGroups, last),
                       sums.get());
    }
    return true;
  });
}

}  // namespace thalweg::compute
