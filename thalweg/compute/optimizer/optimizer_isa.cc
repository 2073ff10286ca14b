// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level. In the order of UpdateRule.
#include "thalweg/compute/ew/float_math.inc"
#include "thalweg/compute/optimizer/kernels.h"

namespace thalweg::compute {
namespace {

template <class T>
void GradientDescent(int64_t n, T* var, T*, T*, T*, const T* g, const T* s) {
  const T lr = s[0];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) var[i] -= g[i] * lr;
}

template <class T, bool kNesterov>
void Momentum(int64_t n, T* var, T* accum, T*, T*, const T* g, const T* s) {
  const T lr = s[0], momentum = s[1];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T a = accum[i] * momentum + g[i];
    accum[i] = a;
    var[i] -= kNesterov ? g[i] * lr + a * momentum * lr : a * lr;
  }
}

template <class T>
void Adagrad(int64_t n, T* var, T* accum, T*, T*, const T* g, const T* s) {
  const T lr = s[0];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T a = accum[i] + g[i] * g[i];
    accum[i] = a;
    var[i] -= g[i] * lr * (T(1) / Sqrt(a));
  }
}

template <class T>
void AdagradV2(int64_t n, T* var, T* accum, T*, T*, const T* g, const T* s) {
  const T lr = s[0], epsilon = s[1];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T a = accum[i] + g[i] * g[i];
    accum[i] = a;
    var[i] -= g[i] * lr / (Sqrt(a) + epsilon);
  }
}

template <class T>
void Adadelta(int64_t n, T* var, T* accum, T* updates, T*, const T* g, const T* s) {
  const T lr = s[0], rho = s[1], epsilon = s[2];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T a = accum[i] * rho + g[i] * g[i] * (T(1) - rho);
    const T step = Sqrt(updates[i] + epsilon) * (T(1) / Sqrt(a + epsilon)) * g[i];
    accum[i] = a;
    var[i] -= step * lr;
    updates[i] = updates[i] * rho + step * step * (T(1) - rho);
  }
}

template <class T>
void RmsProp(int64_t n, T* var, T* ms, T* mom, T*, const T* g, const T* s) {
  const T lr = s[0], rho = s[1], momentum = s[2], epsilon = s[3];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T m = ms[i] + (g[i] * g[i] - ms[i]) * (T(1) - rho);
    const T step = mom[i] * momentum + (g[i] * lr) / Sqrt(m + epsilon);
    ms[i] = m;
    mom[i] = step;
    var[i] -= step;
  }
}

template <class T>
void CenteredRmsProp(int64_t n, T* var, T* ms, T* mom, T* mg, const T* g, const T* s) {
  const T lr = s[0], rho = s[1], momentum = s[2], epsilon = s[3];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T m = ms[i] + (g[i] * g[i] - ms[i]) * (T(1) - rho);
    const T mean = mg[i] + (g[i] - mg[i]) * (T(1) - rho);
    const T step = mom[i] * momentum + (g[i] * lr) / Sqrt((m - mean * mean) + epsilon);
    ms[i] = m;
    mg[i] = mean;
    mom[i] = step;
    var[i] -= step;
  }
}

template <class T, bool kNesterov>
void Adam(int64_t n, T* var, T* m, T* v, T*, const T* g, const T* s) {
  const T alpha = s[0], beta1 = s[1], beta2 = s[2], epsilon = s[3];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T first = m[i] + (g[i] - m[i]) * (T(1) - beta1);
    const T second = v[i] + (g[i] * g[i] - v[i]) * (T(1) - beta2);
    m[i] = first;
    v[i] = second;
    const T direction = kNesterov ? g[i] * (T(1) - beta1) + beta1 * first : first;
    var[i] -= (direction * alpha) / (Sqrt(second) + epsilon);
  }
}

template <class T>
constexpr UpdateKernels<T> Make() {
  return {{GradientDescent<T>, Momentum<T, false>, Momentum<T, true>, Adagrad<T>, AdagradV2<T>,
           Adadelta<T>, RmsProp<T>, CenteredRmsProp<T>, Adam<T, false>, Adam<T, true>}};
}

}  // namespace

namespace THALWEG_LEVEL {
constinit const UpdateKernels<float> kUpdateFloat = Make<float>();
constinit const UpdateKernels<double> kUpdateDouble = Make<double>();
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
