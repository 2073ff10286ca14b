// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level.
#include "thalweg/compute/ew/float_math.inc"
#include "thalweg/compute/reduce/row.inc"
#include "thalweg/compute/softmax/kernels.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kTile = 256;  // exponentials wait here to be summed when nobody keeps them

template <class T>
T ExpSum(T* out, const T* x, T shift, int64_t n) {
  T tile[kTile];
  T sum = 0;
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t count = n - i < kTile ? n - i : kTile;
    T* to = out != nullptr ? out + i : tile;
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) to[j] = Exp(x[i + j] - shift);
    sum += ReduceRow<T, SumRule>(to, count);
  }
  return sum;
}

template <class T>
void Scale(T* out, const T* x, T factor, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

template <class T>
void Subtract(T* out, const T* x, T shift, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] - shift;
}

template <class T>
T CrossEntropy(const T* x, const T* labels, int64_t label_step, T shift, int64_t n) {
  T tile[kTile];
  T sum = 0;
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t count = n - i < kTile ? n - i : kTile;
    // A label of zero takes nothing, not even from an infinite logit.
    for (int64_t j = 0; j < count; ++j) {
      const T label = labels[(i + j) * label_step];
      const T term = label * (shift - x[i + j]);
      tile[j] = label == 0 ? T(0) : term;
    }
    sum += ReduceRow<T, SumRule>(tile, count);
  }
  return sum;
}

template <class T>
void SubtractLabels(T* out, const T* labels, int64_t label_step, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] -= labels[i * label_step];
}

template <class T>
constexpr SoftmaxKernels<T> Make() {
  return {ReduceRowFromFirst<T, MaximumRule>,
          ExpSum<T>,
          Scale<T>,
          Subtract<T>,
          CrossEntropy<T>,
          SubtractLabels<T>};
}

}  // namespace

namespace THALWEG_LEVEL {
constinit const SoftmaxKernels<float> kSoftmaxFloat = Make<float>();
constinit const SoftmaxKernels<double> kSoftmaxDouble = Make<double>();
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
