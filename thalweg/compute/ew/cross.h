// SPDX-License-Identifier: Apache-2.0
// Cross: the products a x b of n pairs of vectors with three elements each.
//
//   RETURN_IF_ERROR(Cross(work, DType::kFloat, n, a, b, out));
//
// Types: real numbers; integers wrap; half and bfloat16 are computed in float.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

Status Cross(Work& work, DType dtype, int64_t n, const void* a, const void* b, void* out);

}  // namespace thalweg::compute
