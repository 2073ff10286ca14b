// SPDX-License-Identifier: Apache-2.0
// An order of rows and columns in which a sparse factor gets few new values: approximate minimum
// degree, as Eigen 3.4 (and TensorFlow with it) finds it.
//
//   LinalgResult result = MinimumDegreeOrder(n, starts, columns, order);   // order[n]
//
// The pattern is the lower part of a symmetric matrix in compressed rows, without a place twice, n
// at least 1. Nothing is thrown.
// Ownership: pattern and order are the caller's.
// Threads: the caller's alone.
// Errors: kOutOfMemory, kCancelled, kNotThere without the component.
#pragma once

#include "thalweg/compute/linalg/linalg.h"

namespace thalweg::compute {

LinalgResult MinimumDegreeOrder(int32_t n, const int32_t* starts, const int32_t* columns,
                                int32_t* order);

}  // namespace thalweg::compute
