// SPDX-License-Identifier: Apache-2.0
// LevelProduct: products of levels of 8 bits, as they are stored: sums in int32, which wrap.
//
//   const LevelMatrix left{.dtype = DType::kQuint8, .levels = x, .zero = 128};
//   const LevelMatrix right{.dtype = DType::kQint8, .levels = weights};
//   RETURN_IF_ERROR(LevelProduct(work, {.m = 128, .n = 768, .k = 768}, left, right, sums));
//
// c[i, j] = the sum over l of (a[i, l] - a.zero) * (b[l, j] - b.zero). Sums are exact modulo 2^32,
// so that bits are the same at every level of instructions and for every number of threads. Where
// the processor has AMX, its tiles do, else where it has AVX512-VNNI each lane adds four products
// an instruction, else two.
// Ownership: operands are the caller's; nothing is kept. What PackLevels has written is good for
// one instruction set level of one machine.
// Threads: any, each with its own Work; LevelRows and LevelSums are called by several.
// Errors: Unimplemented for types but qint8 and quint8; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// Rows of an operand that is not stored as such, like the windows of a convolution.
class LevelRows {
 public:
  virtual ~LevelRows() = default;
  // Writes rows [first, first + count), one behind the other.
  virtual void Copy(int64_t first, int64_t count, void* to) const = 0;
  // Pieces of one size that each row is made of and that lie somewhere; 0 if they do not.
  virtual int64_t pieces() const { return 0; }
  // Where piece p of row first + i lies: to[p * count + i].
  virtual void Locate(int64_t /*first*/, int64_t /*count*/, const uint8_t** /*to*/) const {}
};

// A part of the sums, in the first-level cache: rows lie `stride` apart.
struct SumTile {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
  const int32_t* sums = nullptr;
  int64_t stride = 0;
};
// What becomes of sums (level_sums.h); every sum is taken once.
class LevelSums {
 public:
  virtual ~LevelSums() = default;
  virtual void Take(const SumTile& tile) const = 0;
};

struct LevelMatrix {
  DType dtype = DType::kQint8;
  const void* levels = nullptr;     // row-major, without gaps
  int64_t zero = 0;                 // the level that stands for 0; may lie outside of the type
  bool transposed = false;          // stored as [columns, rows]
  const LevelRows* rows = nullptr;  // of a, instead of levels
  const void* packed = nullptr;     // of b, instead of levels
};

struct ProductSize {
  int64_t m = 0, n = 0, k = 0;
};

// c is [m, n].
Status LevelProduct(Work& work, const ProductSize& size, const LevelMatrix& a, const LevelMatrix& b,
                    int32_t* c);
Status LevelProduct(Work& work, const ProductSize& size, const LevelMatrix& a, const LevelMatrix& b,
                    const LevelSums& sums);

// b packed once for many products: bytes of it, aligned to 64, and the packing (m is unused).
int64_t PackedLevelsSize(const IsaTable& isa, const ProductSize& size);
Status PackLevels(Work& work, const ProductSize& size, const LevelMatrix& b, void* packed);

}  // namespace thalweg::compute
