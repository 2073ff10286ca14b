// SPDX-License-Identifier: Apache-2.0
// ScanLogSumExp: running log(sum(exp(x))) along the middle of [outer, size, inner].
//
//   RETURN_IF_ERROR(ScanLogSumExp(work, DType::kFloat, {.outer = 2, .size = 5, .inner = 3}, x, y));
//
// No sum overflows; over nothing (the first element of an exclusive scan) it is -infinity. NaN
// stays. Types: half, bfloat16 (computed in float), float, double. May run in place unless
// exclusive.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/reduce/scan.h"

namespace thalweg::compute {

Status ScanLogSumExp(Work& work, DType dtype, const ScanShape& shape, const void* in, void* out);

}  // namespace thalweg::compute
