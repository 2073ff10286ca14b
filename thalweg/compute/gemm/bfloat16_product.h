// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by the processor's own instructions (bfloat16_blocks.h, which says what
// becomes of the smallest numbers). Private to compute/gemm.
//
//   const Bfloat16Unit unit = Bfloat16UnitOf(work.isa());
//   if (unit != Bfloat16Unit::kNone) return Bfloat16Gemm(work, unit, shape, a, b, nullptr, c, {});
//
// Sums are of float and rounded once, to nearest even; a residual and a bias are added before. The
// order of a sum depends on the unit and on the shape alone.
// Ownership: operands are the caller's; a packed b is good for both units.
// Threads: any, each with its own Work. Tiles are configured and released inside of a shard.
// Errors: those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/compute/gemm/bfloat16_blocks.h"
#include "thalweg/compute/gemm/gemm.h"

namespace thalweg::compute {

// Bytes of a packed b; -1 where they overflow.
int64_t PackedBfloat16Bytes(int64_t n, int64_t k);
Status PackBfloat16(Work& work, const GemmShape& shape, const void* b, void* packed);

// As Gemm and PackedGemm of bfloat16, with k > 0; packed: b packed, or null.
Status Bfloat16Gemm(Work& work, Bfloat16Unit unit, const GemmShape& shape, const void* a,
                    const void* b, const void* packed, void* c, const GemmEpilogue& epilogue);

}  // namespace thalweg::compute
