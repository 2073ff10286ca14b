// SPDX-License-Identifier: Apache-2.0
// Numbers rounded to integers at random: up with the probability of the fraction, else down.
//
//   StochasticCast(work, DType::kFloat, DType::kInt8, stream, x, out, n);
//
// NaN becomes 0; what an integer cannot hold becomes its nearest one. From half, bfloat16, float,
// double to int8, int16, int32. Bits do not depend on threads.
// Ownership: operands are the caller's; the stream is a copy.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <cstdint>

#include "thalweg/base/philox.h"
#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

Status StochasticCast(Work& work, DType from, DType to, const Philox& stream, const void* input,
                      void* output, int64_t n);

}  // namespace thalweg::compute
