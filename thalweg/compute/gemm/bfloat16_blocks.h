// SPDX-License-Identifier: Apache-2.0
// What products and convolutions of bfloat16 are made of: operands packed in blocks, and sums of
// such blocks by the processor's own instructions, tiles (AMX) or dot products of pairs
// (AVX512_BF16). Private to compute/gemm and compute/conv.
//
//   const Bfloat16Unit unit = Bfloat16UnitOf(work.isa());   // kNone: no such instructions
//   const TileSetting setting(unit == Bfloat16Unit::kTiles);   // in the thread that sums
//   bfloat16::SumsOf(unit, a.Blocks(i), b.Blocks(j))(steps, a.At(i, 0), b.At(j, 0), false, sums);
//
// A product is of vectors: rows of a, columns of b. Both are packed in groups of 32 vectors, and
// these in steps of 32 elements: one block of 16 x 16 pairs for each 16 vectors. A block of a has a
// row of pairs for each vector, one of b has a row of vectors for each pair, as tiles want them.
// Sums are of float, and rounded once, to nearest even. Both units take numbers below 2^-126 for
// zeros, in operands and in sums; NaN and infinities are kept. The units differ in the order of a
// sum.
// Ownership: all memory is the caller's.
// Threads: any.
// Errors: none. But for Bfloat16UnitOf, nothing here may be called where there is no unit.
#pragma once

#include <cstdint>

#include "thalweg/compute/isa/isa.h"
#include "thalweg/compute/isa/tiles.h"

namespace thalweg::compute {

enum class Bfloat16Unit : uint8_t { kNone, kPairs, kTiles };

// The best of the processor, once the system has permitted tiles; of the highest level alone, and
// none for strict tables (isa/components.h), whose bits are those of AVX2.
Bfloat16Unit Bfloat16UnitOf(const IsaTable& isa);

namespace bfloat16 {

constexpr int64_t kGroup = 32;              // vectors
constexpr int64_t kStep = 32;               // elements of each
constexpr int64_t kBlock = 16 * kStep;      // elements of one block
constexpr int64_t kSums = kGroup * kGroup;  // of two groups
constexpr int64_t kDepthSteps = 32;         // of one pass: two groups stay in the caches

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Vectors of a matrix: `count` of them with k elements each.
struct Vectors {
  const uint16_t* data;
  int64_t stride;
  bool together;  // the elements of a vector lie side by side
  int64_t count, k;
};

// `count` packed vectors of so many steps.
struct Packed {
  const uint16_t* data;
  int64_t steps, count;

  int64_t Blocks(int64_t group) const { return count - group * kGroup > 16 ? 2 : 1; }
  const uint16_t* At(int64_t group, int64_t step) const {
    return data + group * kGroup * steps * kStep + step * Blocks(group) * kBlock;
  }
};

enum class Side : uint8_t { kA, kB };

// The groups [begin, end) of `from`, into what is to be packed at `to`: there they begin at step
// `at`.
void PackGroups(Side side, const Vectors& from, int64_t begin, int64_t end, const Packed& to,
                int64_t at);
// One block of a, of 16 vectors whose elements [at, at + depth) lie side by side; depth <= 32.
void PackRows(const uint16_t* const* vectors, int64_t at, int64_t depth, uint16_t* to);
// One block of b: elements [at, at + count) of 32 rows, a row for each step of the sum; count <=
// 16.
void PackColumns(const uint16_t* const* rows, int64_t at, int64_t count, uint16_t* to);

// sums[32 * i + j] (+)= the sum over some steps of vector i of a group of a times j of one of b.
using SumsFn = void (*)(int64_t steps, const uint16_t* a, const uint16_t* b, bool add, float* sums);
SumsFn SumsOf(Bfloat16Unit unit, int64_t a_blocks, int64_t b_blocks);

// Where the sums of two groups go: element j of row i to c[at[i] + j]. A residual lies as c does.
struct Finish {
  const uint16_t* bias;      // [columns], or null
  const uint16_t* residual;  // or null
  bool relu;

  void Write(const float* sums, int64_t rows, int64_t columns, const int64_t* at,
             uint16_t* c) const;
};

// Element j of row i to c[j * stride + i].
void WriteTransposed(const float* sums, int64_t rows, int64_t columns, int64_t stride, uint16_t* c);

}  // namespace bfloat16
}  // namespace thalweg::compute
