// SPDX-License-Identifier: Apache-2.0
// Complex numbers taken apart and put together.
//
//   RETURN_IF_ERROR(RunComplexPart(work, ComplexPart::kImag, DType::kComplex64, n, z, floats));
//   RETURN_IF_ERROR(RunMakeComplex(work, DType::kFloat, broadcast, re, im, z));
//
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for a type that is not complex64 or complex128 (float or double); those of
// work.h.
#pragma once

#include "thalweg/compute/ew/broadcast.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

enum class ComplexPart : uint8_t { kReal, kImag, kAbs, kAngle };

// n complex numbers to as many real ones; `dtype` is that of the complex ones.
Status RunComplexPart(Work& work, ComplexPart part, DType dtype, int64_t n, const void* in,
                      void* out);
// re + i im; `dtype` is that of the parts.
Status RunMakeComplex(Work& work, DType dtype, const Broadcast& broadcast, const void* re,
                      const void* im, void* out);

}  // namespace thalweg::compute
