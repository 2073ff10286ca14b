// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/optimizer/plain.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "thalweg/compute/optimizer/update_loops.h"

namespace thalweg::compute {
namespace {

template <class T>
constexpr bool kIsReal = std::is_floating_point_v<T>;

// One element: s are the scalars, a, b and c the slots.
template <class T>
struct Element {
  T& var;
  T &a, &b, &c;
  const T g;
};

template <class T>
T Sign(T x) {
  return T((x > 0) - (x < 0));
}

template <class T>
void Adagrad(const Element<T>& e, const T* s, bool update_slots, bool has_epsilon) {
  if (update_slots) e.a += e.g * e.g;
  if (has_epsilon) {
    e.var -= e.g * s[0] / (std::sqrt(e.a) + s[1]);
  } else {
    e.var -= e.g * s[0] * (T(1) / std::sqrt(e.a));
  }
}

template <class T>
void Adadelta(const Element<T>& e, const T* s) {
  const T rho = s[1], epsilon = s[2];
  e.a = e.a * rho + e.g * e.g * (T(1) - rho);
  const T step = std::sqrt(e.b + epsilon) * (T(1) / std::sqrt(e.a + epsilon)) * e.g;
  e.var -= step * s[0];
  e.b = e.b * rho + step * step * (T(1) - rho);
}

template <class T>
void RmsProp(const Element<T>& e, const T* s, bool centered) {
  const T rest = T(1) - s[1];
  e.a += (e.g * e.g - e.a) * rest;
  if (centered) e.c += (e.g - e.c) * rest;
  const T spread = centered ? e.a - e.c * e.c : e.a;
  e.b = e.b * s[2] + e.g * s[0] / std::sqrt(spread + s[3]);
  e.var -= e.b;
}

template <class T>
void Adam(const Element<T>& e, const T* s, bool nesterov) {
  const T rest = T(1) - s[1];
  e.a += (e.g - e.a) * rest;
  e.b += (e.g * e.g - e.b) * (T(1) - s[2]);
  const T direction = nesterov ? e.g * rest + s[1] * e.a : e.a;
  e.var -= direction * s[0] / (std::sqrt(e.b) + s[3]);
}

// Rules that compare numbers.
template <class T>
void OrderedStep(UpdateRule rule, const Element<T>& e, const T* s) {
  switch (rule) {
    case UpdateRule::kAdaMax:
      e.a += (e.g - e.a) * (T(1) - s[1]);
      e.b = std::max(s[2] * e.b, std::abs(e.g));
      e.var -= s[0] / (T(1) - s[4]) * (e.a / (e.b + s[3]));
      return;
    case UpdateRule::kAddSign:
      e.a = e.a * s[3] + e.g * (T(1) - s[3]);
      e.var -= s[0] * (s[1] + s[2] * Sign(e.g) * Sign(e.a)) * e.g;
      return;
    case UpdateRule::kPowerSign:
      e.a = e.a * s[3] + e.g * (T(1) - s[3]);
      e.var -= s[0] * std::exp(s[1] * s[2] * Sign(e.g) * Sign(e.a)) * e.g;
      return;
    default:  // kAmsgrad
      e.a += (e.g - e.a) * (T(1) - s[1]);
      e.b += (e.g * e.g - e.b) * (T(1) - s[2]);
      e.c = std::max(e.c, e.b);
      e.var -= e.a * s[0] / (std::sqrt(e.c) + s[3]);
  }
}

template <class T>
void Step(UpdateRule rule, bool update_slots, const Element<T>& e, const T* s) {
  switch (rule) {
    case UpdateRule::kGradientDescent:
      e.var -= e.g * s[0];
      return;
    case UpdateRule::kMomentum:
    case UpdateRule::kNesterov:
      e.a = e.a * s[1] + e.g;
      e.var -= rule == UpdateRule::kNesterov ? e.g * s[0] + e.a * s[1] * s[0] : e.a * s[0];
      return;
    case UpdateRule::kAdagrad:
    case UpdateRule::kAdagradV2:
      return Adagrad(e, s, update_slots, rule == UpdateRule::kAdagradV2);
    case UpdateRule::kAdadelta:
      return Adadelta(e, s);
    case UpdateRule::kRmsProp:
    case UpdateRule::kCenteredRmsProp:
      return RmsProp(e, s, rule == UpdateRule::kCenteredRmsProp);
    case UpdateRule::kAdam:
    case UpdateRule::kAdamNesterov:
      return Adam(e, s, rule == UpdateRule::kAdamNesterov);
    case UpdateRule::kKerasMomentum:
    case UpdateRule::kKerasNesterov:
      e.a = e.a * s[1] - e.g * s[0];
      e.var += rule == UpdateRule::kKerasNesterov ? e.a * s[1] - e.g * s[0] : e.a;
      return;
    default:
      if constexpr (kIsReal<T>) OrderedStep(rule, e, s);
  }
}

// Elements stored as S, computed in T.
template <class S, class T>
void Run(const PlainUpdate& update, int64_t target, int64_t source, int64_t n) {
  T scalars[std::tuple_size_v<decltype(update.scalars)>];
  for (size_t i = 0; i < update.scalars.size(); ++i) {
    if constexpr (kIsReal<T>) {
      scalars[i] = static_cast<T>(update.scalars[i].real());
    } else {
      scalars[i] = static_cast<T>(update.scalars[i]);
    }
  }
  S* const var = static_cast<S*>(update.var) + target;
  S* slot[3];
  for (int k = 0; k < 3; ++k) {
    slot[k] = update.slots[k] != nullptr ? static_cast<S*>(update.slots[k]) + target : nullptr;
  }
  const S* const grad = static_cast<const S*>(update.grad) + source;
  for (int64_t i = 0; i < n; ++i) {
    T v = static_cast<T>(var[i]), kept[3] = {};
    for (int k = 0; k < 3; ++k) {
      if (slot[k] != nullptr) kept[k] = static_cast<T>(slot[k][i]);
    }
    Step<T>(update.rule, update.update_slots,
            {v, kept[0], kept[1], kept[2], static_cast<T>(grad[i])}, scalars);
    var[i] = S(v);
    for (int k = 0; k < 3; ++k) {
      if (slot[k] != nullptr) slot[k][i] = S(kept[k]);
    }
  }
}

Result<UpdateRun<PlainUpdate>> RunFor(DType dtype, UpdateRule rule) {
  const bool compares = rule >= UpdateRule::kAdaMax && rule <= UpdateRule::kAmsgrad;
  if (!compares && dtype == DType::kComplex64) {
    return &Run<std::complex<float>, std::complex<float>>;
  }
  if (!compares && dtype == DType::kComplex128) {
    return &Run<std::complex<double>, std::complex<double>>;
  }
  return RunOfRealType<PlainUpdate>(dtype, []<class S, class T> { return &Run<S, T>; });
}

}  // namespace

Status RunPlain(Work& work, DType dtype, int64_t n, const PlainUpdate& update) {
  ASSIGN_OR_RETURN(const UpdateRun<PlainUpdate> run, RunFor(dtype, update.rule));
  return RunOverElements(work, n, update, run);
}

Status RunSparsePlain(Work& work, DType dtype, const int64_t* indices, int64_t count, int64_t inner,
                      const PlainUpdate& update) {
  ASSIGN_OR_RETURN(const UpdateRun<PlainUpdate> run, RunFor(dtype, update.rule));
  return RunOverRows(work, indices, count, inner, update, run);
}

}  // namespace thalweg::compute
