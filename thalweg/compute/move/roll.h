// SPDX-License-Identifier: Apache-2.0
// RollElements: out[(i + shift) mod dims] = in[i] for every index i.
//
//   RollElements(work, dtype, dims, shifts, in, out);   // the rows' elements one to the right
//
// Every shift is in [0, dims[d]) (0 where the dimension is empty). Element types: all.
// Ownership: operands are the caller's; elements that are objects are copied.
// Threads: any, each with its own Work.
// Errors: InvalidArgument for a type without elements; those of work.h.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

Status RollElements(Work& work, DType dtype, std::span<const int64_t> dims,
                    std::span<const int64_t> shifts, const void* in, void* out);

}  // namespace thalweg::compute
