// SPDX-License-Identifier: Apache-2.0
// PopulationCount: how many bits of each integer are set.
//
//   RETURN_IF_ERROR(PopulationCount(work, DType::kInt64, n, x, counts));
//
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for a type that is no integer; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

Status PopulationCount(Work& work, DType dtype, int64_t n, const void* in, uint8_t* out);

}  // namespace thalweg::compute
