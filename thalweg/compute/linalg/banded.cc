// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/linalg/banded.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace thalweg::compute {
namespace {

float Conjugate(float x) { return x; }
double Conjugate(double x) { return x; }
template <class R>
std::complex<R> Conjugate(std::complex<R> x) {
  return std::conj(x);
}

template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};

template <class T>
void AddMultiple(int64_t k, T factor, const T* from, T* to) {
  for (int64_t j = 0; j < k; ++j) to[j] += factor * from[j];
}

template <class T>
bool TriangularSolve(int64_t bands, int64_t n, int64_t k, const void* matrix, const void* rhs,
                     bool lower, bool adjoint, void* out) {
  const T* a = static_cast<const T*>(matrix);
  T* x = static_cast<T*>(out);
  std::copy_n(static_cast<const T*>(rhs), n * k, x);
  const T* main = a + (lower ? 0 : bands - 1) * n;
  if (std::find(main, main + n, T(0)) != main + n) return false;
  const int64_t reach = std::min(bands, n) - 1;
  const bool forward = lower != adjoint;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t row = forward ? step : n - 1 - step;
    for (int64_t d = 1; d <= reach; ++d) {
      const int64_t other = forward ? row - d : row + d;
      if (other < 0 || other >= n) break;
      // Element (row, other) of the adjoint is that of (other, row).
      const T* band = a + (lower ? d : bands - 1 - d) * n;
      const T factor = adjoint ? Conjugate(band[other]) : band[row];
      AddMultiple(k, -factor, x + other * k, x + row * k);
    }
    const T pivot = adjoint ? Conjugate(main[row]) : main[row];
    for (int64_t j = 0; j < k; ++j) x[row * k + j] /= pivot;
  }
  return true;
}

// The rows of u while it is made: main diagonal and two above.
template <class T>
struct Upper {
  T* main;
  T* above;
  T* second;
};

// The least pivot that is kept: relative to the largest element; of zeros, the smallest number.
template <class T>
typename RealOf<T>::Type LeastPivot(int64_t n, const T* super, const T* main, const T* sub) {
  using R = typename RealOf<T>::Type;
  R largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max<R>(largest, std::abs(main[i]));
    if (i + 1 < n) largest = std::max<R>(largest, std::abs(super[i]));
    if (i > 0) largest = std::max<R>(largest, std::abs(sub[i]));
  }
  const R least = largest * std::numeric_limits<R>::epsilon();
  return least > 0 ? least : std::numeric_limits<R>::min();
}

template <class T>
void Perturb(typename RealOf<T>::Type least, T& pivot) {
  if (std::abs(pivot) >= least) return;
  if constexpr (std::is_same_v<T, typename RealOf<T>::Type>) {
    pivot = std::copysign(least, pivot);
  } else {
    pivot = T(std::copysign(least, pivot.real()));
  }
}

template <class T>
void TridiagonalSolve(int64_t n, int64_t k, const void* super_data, const void* main_data,
                      const void* sub_data, const void* rhs, const TridiagonalOptions& options,
                      void* scratch, void* out) {
  const T* super = static_cast<const T*>(super_data);
  const T* main = static_cast<const T*>(main_data);
  const T* sub = static_cast<const T*>(sub_data);
  T* x = static_cast<T*>(out);
  T* space = static_cast<T*>(scratch);
  if (n == 0) return;
  const Upper<T> u{space, space + n, space + 2 * n};
  std::copy_n(static_cast<const T*>(rhs), n * k, x);
  const auto least = LeastPivot(n, super, main, sub);
  u.main[0] = main[0];
  u.above[0] = n > 1 ? super[0] : T(0);
  u.second[0] = T(0);
  bool singular = false;
  for (int64_t i = 0; i + 1 < n; ++i) {
    T below = sub[i + 1], below_main = main[i + 1];
    T below_above = i + 2 < n ? super[i + 1] : T(0);
    if (options.pivoting && std::abs(below) > std::abs(u.main[i])) {
      // Rows i and i + 1 change places.
      std::swap(u.main[i], below);
      std::swap(u.above[i], below_main);
      u.second[i] = below_above;
      below_above = T(0);
      std::swap_ranges(x + i * k, x + (i + 1) * k, x + (i + 1) * k);
    } else {
      u.second[i] = T(0);
    }
    if (options.perturb_singular) Perturb(least, u.main[i]);
    singular = singular || u.main[i] == T(0);
    const T factor = below / u.main[i];
    u.main[i + 1] = below_main - factor * u.above[i];
    u.above[i + 1] = below_above - factor * u.second[i];
    AddMultiple(k, -factor, x + i * k, x + (i + 1) * k);
  }
  if (options.perturb_singular) Perturb(least, u.main[n - 1]);
  if (singular || u.main[n - 1] == T(0)) {
    std::fill_n(x, n * k, T(std::numeric_limits<typename RealOf<T>::Type>::quiet_NaN()));
    return;
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    if (i + 1 < n) AddMultiple(k, -u.above[i], x + (i + 1) * k, x + i * k);
    if (i + 2 < n) AddMultiple(k, -u.second[i], x + (i + 2) * k, x + i * k);
    for (int64_t j = 0; j < k; ++j) x[i * k + j] /= u.main[i];
  }
}

template <class T>
void TridiagonalProduct(int64_t n, int64_t k, const void* super, const void* main, const void* sub,
                        const void* rhs, void* out) {
  const T* x = static_cast<const T*>(rhs);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const T here = static_cast<const T*>(main)[i];
    for (int64_t j = 0; j < k; ++j) y[i * k + j] = here * x[i * k + j];
    if (i > 0) AddMultiple(k, static_cast<const T*>(sub)[i], x + (i - 1) * k, y + i * k);
    if (i + 1 < n) AddMultiple(k, static_cast<const T*>(super)[i], x + (i + 1) * k, y + i * k);
  }
}

template <class T>
constexpr BandedKernels kTable = {TriangularSolve<T>, TridiagonalSolve<T>, TridiagonalProduct<T>};

}  // namespace

const BandedKernels* BandedKernelsOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return &kTable<float>;
    case DType::kDouble:
      return &kTable<double>;
    case DType::kComplex64:
      return &kTable<std::complex<float>>;
    case DType::kComplex128:
      return &kTable<std::complex<double>>;
    default:
      return nullptr;
  }
}

}  // namespace thalweg::compute
