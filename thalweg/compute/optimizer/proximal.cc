// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/optimizer/proximal.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/optimizer/update_loops.h"

namespace thalweg::compute {
namespace {

template <class T>
struct Scalars {
  T lr, l1, l2, l2_shrinkage, lr_power, step;
  bool linear_times_lr;
};

// |x| less `amount`, at least 0, with the sign of x.
template <class T>
T Shrunk(T x, T amount) {
  return std::copysign(std::max(std::abs(x) - amount, T(0)), x);
}

// x^(-power); roots are by far the most common.
template <class T>
T InversePower(T x, T power) {
  return power == T(-0.5) ? std::sqrt(x) : std::pow(x, -power);
}

template <class T>
void Step(ProximalRule rule, const Scalars<T>& s, T& var, T& slot0, T& slot1, T g) {
  switch (rule) {
    case ProximalRule::kGradientDescent: {
      const T moved = var - s.lr * g;
      var = (s.l1 > 0 ? Shrunk(moved, s.lr * s.l1) : moved) / (T(1) + s.l2 * s.lr);
      return;
    }
    case ProximalRule::kAdagrad: {
      slot0 += g * g;
      const T rate = s.lr / std::sqrt(slot0);
      const T moved = var - g * rate;
      var = (s.l1 > 0 ? Shrunk(moved, rate * s.l1) : moved) / (T(1) + rate * s.l2);
      return;
    }
    case ProximalRule::kFtrl: {
      const T before = InversePower(slot0, s.lr_power);
      slot0 += g * g;
      const T after = InversePower(slot0, s.lr_power);
      // Everything times `scale`: lr, or one.
      const T scale = s.linear_times_lr ? s.lr : T(1), inner = s.linear_times_lr ? T(1) : s.lr;
      slot1 += scale * (g + T(2) * s.l2_shrinkage * var) - (after - before) / inner * var;
      const T linear = slot1, l1 = scale * s.l1;
      const T quadratic = after / inner + T(2) * scale * s.l2;
      var = std::abs(linear) > l1 ? (std::copysign(l1, linear) - linear) / quadratic : T(0);
      return;
    }
    case ProximalRule::kDualAveraging: {
      slot0 += g;
      slot1 += g * g;
      const T sum = s.l1 > 0 ? Shrunk(slot0, s.l1 * s.step) : slot0;
      var = -s.lr * sum / (s.l2 * s.step * s.lr + std::sqrt(slot1));
      return;
    }
  }
}

template <class T, class S>
T Load(const S& stored) {
  return static_cast<T>(stored);
}

// Elements stored as S, computed in T.
template <class S, class T>
void Run(const ProximalUpdate& update, int64_t target, int64_t source, int64_t n) {
  const ProximalScalars& d = update.scalars;
  const Scalars<T> s{T(d.lr),       T(d.l1),   T(d.l2),          T(d.l2_shrinkage),
                     T(d.lr_power), T(d.step), d.linear_times_lr};
  S* var = static_cast<S*>(update.var) + target;
  S* slots[2];
  for (int k = 0; k < 2; ++k) {
    slots[k] = update.slots[k] != nullptr ? static_cast<S*>(update.slots[k]) + target : nullptr;
  }
  const S* grad = static_cast<const S*>(update.grad) + source;
  for (int64_t i = 0; i < n; ++i) {
    T v = Load<T>(var[i]);
    T a = slots[0] != nullptr ? Load<T>(slots[0][i]) : T(0);
    T b = slots[1] != nullptr ? Load<T>(slots[1][i]) : T(0);
    Step(update.rule, s, v, a, b, Load<T>(grad[i]));
    var[i] = S(v);
    if (slots[0] != nullptr) slots[0][i] = S(a);
    if (slots[1] != nullptr) slots[1][i] = S(b);
  }
}

Result<UpdateRun<ProximalUpdate>> RunFor(DType dtype) {
  return RunOfRealType<ProximalUpdate>(dtype, []<class S, class T> { return &Run<S, T>; });
}

}  // namespace

Status RunProximal(Work& work, DType dtype, int64_t n, const ProximalUpdate& update) {
  ASSIGN_OR_RETURN(const UpdateRun<ProximalUpdate> run, RunFor(dtype));
  return RunOverElements(work, n, update, run);
}

Status RunSparseProximal(Work& work, DType dtype, const int64_t* indices, int64_t count,
                         int64_t inner, const ProximalUpdate& update) {
  ASSIGN_OR_RETURN(const UpdateRun<ProximalUpdate> run, RunFor(dtype));
  return RunOverRows(work, indices, count, inner, update, run);
}

}  // namespace thalweg::compute
