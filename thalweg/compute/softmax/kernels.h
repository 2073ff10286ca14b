// SPDX-License-Identifier: Apache-2.0
// The phases of softmax over one contiguous row. Private to compute/softmax.
// Ownership: tables are static; rows are the caller's.
// Threads: any; a loop is the caller's thread alone.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg::compute {

// Functions of one row of n >= 1 elements; out may be x.
template <class T>
struct SoftmaxKernels {
  void (*softmax)(T* out, const T* x, int64_t n);
  void (*log_softmax)(T* out, const T* x, int64_t n);
  // The loss; out = softmax - labels. A label_step of 0 repeats one element of labels.
  T (*dense)(T* out, const T* x, const T* labels, int64_t label_step, int64_t n);
  // The loss of class `label`; out = softmax, less 1 at the label.
  T (*sparse)(T* out, const T* x, int64_t label, int64_t n);
};

#define THALWEG_SOFTMAX_LEVEL(LEVEL)                  \
  namespace LEVEL {                                   \
  extern const SoftmaxKernels<float> kSoftmaxFloat;   \
  extern const SoftmaxKernels<double> kSoftmaxDouble; \
  }
THALWEG_SOFTMAX_LEVEL(sse4)
THALWEG_SOFTMAX_LEVEL(avx2)
THALWEG_SOFTMAX_LEVEL(avx512)
#undef THALWEG_SOFTMAX_LEVEL

}  // namespace thalweg::compute
