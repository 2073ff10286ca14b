// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_linalg.so, the component that holds
// Eigen's code. Private to compute/linalg.
// Ownership: the table is static; the component is never closed.
// Threads: any.
// Errors: a LinalgResult of each kernel; null for another version.
//   const LinalgApi* api = thalweg_linalg(kLinalgVersion, cancelled);   // by dlsym
#pragma once

#include "thalweg/compute/linalg/linalg.h"

namespace thalweg::compute {

inline constexpr int kLinalgVersion = 1;

struct LinalgApi {
  LinalgKernels of_float, of_double, of_complex64, of_complex128;
  LinalgResult (*minimum_degree_order)(int32_t n, const int32_t* starts, const int32_t* columns,
                                       int32_t* order);
};

// Whether the work of the calling thread is cancelled.
using LinalgCancelled = bool (*)();
// Null for a version that the component does not know.
using LinalgEntry = const LinalgApi* (*)(int version, LinalgCancelled cancelled);

}  // namespace thalweg::compute
