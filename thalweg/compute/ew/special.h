// SPDX-License-Identifier: Apache-2.0
// Special functions, element by element.
//
//   RETURN_IF_ERROR(RunSpecial(work, SpecialUnary::kBesselI0, dtype, n, x, y));
//   RETURN_IF_ERROR(RunSpecial(work, SpecialBinary::kIgamma, dtype, broadcast, a, x, y));
//
// Everything is computed in double and rounded once. Types: half, bfloat16, float, double. Outside
// its domain a function is NaN. Every call ends: sums and continued fractions have a bounded number
// of terms whatever their arguments.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/ew/broadcast.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// clang-format off
enum class SpecialUnary : uint8_t {
  kBesselI0, kBesselI0e, kBesselI1, kBesselI1e, kBesselJ0, kBesselJ1, kBesselK0, kBesselK0e, kBesselK1, kBesselK1e,
  kBesselY0, kBesselY1, kDawsn, kErfinv, kExpint, kFresnelCos, kFresnelSin, kNdtri, kSpence
};
// Their operands are (a, x), (n, x) or (s, q).
enum class SpecialBinary : uint8_t { kIgamma, kIgammaGradA, kIgammac, kPolygamma, kXlog1py, kZeta };
// clang-format on

Status RunSpecial(Work& work, SpecialUnary op, DType dtype, int64_t n, const void* x, void* y);
Status RunSpecial(Work& work, SpecialBinary op, DType dtype, const Broadcast& broadcast,
                  const void* a, const void* b, void* out);
// The regularized incomplete beta function of operands (a, b, x).
Status RunBetainc(Work& work, DType dtype, const Broadcast& broadcast, const void* a, const void* b,
                  const void* x, void* out);
// The float or double next to a in the direction of b.
Status RunNextAfter(Work& work, DType dtype, const Broadcast& broadcast, const void* a,
                    const void* b, void* out);
// a / b without its fraction, of floating types; the quotient is rounded first.
Status RunTruncateDiv(Work& work, DType dtype, const Broadcast& broadcast, const void* a,
                      const void* b, void* out);
// x log(1 + y), and 0 where x is 0, of complex numbers.
Status RunComplexXlog1py(Work& work, DType dtype, const Broadcast& broadcast, const void* x,
                         const void* y, void* out);

}  // namespace thalweg::compute
