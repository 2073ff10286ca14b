// SPDX-License-Identifier: Apache-2.0
// The loops of optimizer.h, by rule. Private to compute/optimizer.
// Ownership: tables are static; elements are the caller's.
// Threads: any; a loop is the caller's thread alone.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg::compute {

template <class T>
struct UpdateKernels {
  // Slots that a rule does not have are null.
  void (*rule[10])(int64_t n, T* var, T* slot0, T* slot1, T* slot2, const T* grad,
                   const T* scalars);
};

#define THALWEG_UPDATE_LEVEL(LEVEL)                 \
  namespace LEVEL {                                 \
  extern const UpdateKernels<float> kUpdateFloat;   \
  extern const UpdateKernels<double> kUpdateDouble; \
  }
THALWEG_UPDATE_LEVEL(sse4)
THALWEG_UPDATE_LEVEL(avx2)
THALWEG_UPDATE_LEVEL(avx512)
#undef THALWEG_UPDATE_LEVEL

}  // namespace thalweg::compute
