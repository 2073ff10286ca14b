// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/sparse/csr.h"

#include <algorithm>
#include <complex>
#include <limits>

#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

template <class F>
Status WithType(DType dtype, F&& f) {
  Status status = Unimplemented("sparse matrices of type ", dtype);
  ForEachType<Types<float, double, std::complex<float>, std::complex<double>>>([&]<class T>() {
    if (kDTypeOf<T> == dtype) status = f.template operator()<T>();
  });
  return status;
}

template <class T>
T Conjugate(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return std::conj(value);
  }
}

}  // namespace

Status TransposeCsr(DType dtype, const CsrView& a, bool conjugate, int32_t* starts, int32_t* places,
                    void* values) {
  const int32_t count = a.starts[a.rows];
  std::fill_n(starts, a.columns + 1, 0);
  for (int32_t i = 0; i < count; ++i) ++starts[a.places[i] + 1];
  for (int64_t c = 0; c < a.columns; ++c) starts[c + 1] += starts[c];
  std::vector<int32_t> next(starts, starts + a.columns);
  return WithType(dtype, [&]<class T>() {
    const T* from = static_cast<const T*>(a.values);
    T* to = static_cast<T*>(values);
    for (int64_t row = 0; row < a.rows; ++row) {
      Interruption::Look();
      for (int32_t i = a.starts[row]; i < a.starts[row + 1]; ++i) {
        LookAtBlocks(static_cast<size_t>(i));
        const int32_t at = next[static_cast<size_t>(a.places[i])]++;
        places[at] = static_cast<int32_t>(row);
        to[at] = conjugate ? Conjugate(from[i]) : from[i];
      }
    }
    return OkStatus();
  });
}

Status ConjugateValues(DType dtype, int64_t n, void* values) {
  return WithType(dtype, [&]<class T>() {
    T* const value = static_cast<T*>(values);
    for (int64_t i = 0; i < n; ++i) value[i] = Conjugate(value[i]);
    return OkStatus();
  });
}

Result<CsrPattern> ProductPattern(const CsrView& a, const CsrView& b) {
  CsrPattern made;
  made.starts.push_back(0);
  std::vector<int32_t> row_places;
  for (int64_t row = 0; row < a.rows; ++row) {
    Interruption::Look();
    row_places.clear();
    for (int32_t i = a.starts[row]; i < a.starts[row + 1]; ++i) {
      const int32_t k = a.places[i];
      row_places.insert(row_places.end(), b.places + b.starts[k], b.places + b.starts[k + 1]);
    }
    std::sort(row_places.begin(), row_places.end());
    row_places.erase(std::unique(row_places.begin(), row_places.end()), row_places.end());
    if (made.places.size() + row_places.size() >
        static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return ResourceExhausted("a product of sparse matrices has too many values");
    }
    made.places.insert(made.places.end(), row_places.begin(), row_places.end());
    made.starts.push_back(static_cast<int32_t>(made.places.size()));
  }
  return made;
}

Status ProductValues(DType dtype, const CsrView& a, const CsrView& b, const CsrPattern& pattern,
                     void* values) {
  return WithType(dtype, [&]<class T>() {
    const T *x = static_cast<const T*>(a.values), *y = static_cast<const T*>(b.values);
    T* const out = static_cast<T*>(values);
    std::fill_n(out, pattern.places.size(), T(0));
    for (int64_t row = 0; row < a.rows; ++row) {
      const auto first = pattern.places.begin() + pattern.starts[static_cast<size_t>(row)];
      const auto last = pattern.places.begin() + pattern.starts[static_cast<size_t>(row) + 1];
      for (int32_t i = a.starts[row]; i < a.starts[row + 1]; ++i) {
        const int32_t k = a.places[i];
        for (int32_t j = b.starts[k]; j < b.starts[k + 1]; ++j) {
          out[std::lower_bound(first, last, b.places[j]) - pattern.places.begin()] += x[i] * y[j];
        }
      }
    }
    return OkStatus();
  });
}

}  // namespace thalweg::compute
