// SPDX-License-Identifier: Apache-2.0
// The phases of softmax over one contiguous row. Private to compute/softmax.
#pragma once

#include <cstdint>

namespace thalweg::compute {

template <class T>
struct SoftmaxKernels {
  T (*max)(const T* x, int64_t n);
  // Sum of e^(x - shift); the terms go to out when it is not null (out may be x).
  T (*exp_sum)(T* out, const T* x, T shift, int64_t n);
  // out = x * factor, out = x - shift; in place too.
  void (*scale)(T* out, const T* x, T factor, int64_t n);
  void (*subtract)(T* out, const T* x, T shift, int64_t n);
  // Sum of labels * (shift - x); labels with label_step 0 is one element.
  T (*cross_entropy)(const T* x, const T* labels, int64_t label_step, T shift, int64_t n);
  // out = out - labels.
  void (*subtract_labels)(T* out, const T* labels, int64_t label_step, int64_t n);
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
