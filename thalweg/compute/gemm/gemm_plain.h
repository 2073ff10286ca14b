// SPDX-License-Identifier: Apache-2.0
// PlainGemm: Gemm for int32, int64, complex64 and complex128 by plain loops. Private to
// compute/gemm.
// Ownership: operands are the caller's; nothing is kept.
// Threads: as Gemm.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/gemm/gemm.h"

namespace thalweg::compute {

Status PlainGemm(Work& work, DType dtype, const GemmShape& shape, const void* a, const void* b,
                 void* c, const GemmEpilogue& epilogue);

}  // namespace thalweg::compute
