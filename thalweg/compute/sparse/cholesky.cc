// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/sparse/cholesky.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

template <class T>
T Conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

}  // namespace

// The lower part by rows of p a p^T.
void SparseCholesky::Permute(const int32_t* order) {
  const auto rows = static_cast<size_t>(a_.rows);
  std::vector<int32_t> place(rows);
  for (size_t i = 0; i < rows; ++i) place[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  const auto for_lower = [&](const auto& f) {
    for (int64_t row = 0; row < a_.rows; ++row) {
      for (int32_t k = a_.starts[row]; k < a_.starts[row + 1]; ++k) {
        const int32_t column = a_.places[k];
        if (column > row) continue;
        const int32_t i = place[static_cast<size_t>(row)], j = place[static_cast<size_t>(column)];
        f(std::max(i, j), Element{std::min(i, j), k, i < j});
      }
    }
  };
  row_starts_.assign(rows + 1, 0);
  for_lower([&](int32_t row, const Element&) { ++row_starts_[static_cast<size_t>(row) + 1]; });
  for (size_t i = 0; i < rows; ++i) row_starts_[i + 1] += row_starts_[i];
  elements_.resize(static_cast<size_t>(row_starts_.back()));
  std::vector<int32_t> next = row_starts_;
  for_lower([&](int32_t row, const Element& element) {
    elements_[static_cast<size_t>(next[static_cast<size_t>(row)]++)] = element;
  });
}

// f(column) for every column of a row of the factor but the last, in no order: from each element of
// the row up the elimination tree (Davis, "Direct Methods for Sparse Linear Systems", 4.3).
template <class F>
void SparseCholesky::ForRowOfFactor(int64_t row, std::vector<int32_t>& mark, const F& f) const {
  const auto r = static_cast<size_t>(row);
  mark[r] = static_cast<int32_t>(row);
  for (int32_t k = row_starts_[r]; k < row_starts_[r + 1]; ++k) {
    int32_t column = elements_[static_cast<size_t>(k)].column;
    while (column >= 0 && mark[static_cast<size_t>(column)] != row) {
      f(column);
      mark[static_cast<size_t>(column)] = static_cast<int32_t>(row);
      column = parents_[static_cast<size_t>(column)];
    }
  }
}

Result<SparseCholesky> SparseCholesky::Plan(Work& work, const CsrView& a, const int32_t* order) {
  SparseCholesky plan;
  plan.a_ = a;
  plan.Permute(order);
  const auto rows = static_cast<size_t>(a.rows);
  plan.parents_.assign(rows, -1);
  std::vector<int32_t> ancestors(rows, -1), mark(rows, -1);
  plan.starts_.reserve(rows + 1);
  plan.starts_.push_back(0);
  for (size_t row = 0; row < rows; ++row) {
    for (int32_t k = plan.row_starts_[row]; k < plan.row_starts_[row + 1]; ++k) {
      int32_t column = plan.elements_[static_cast<size_t>(k)].column;
      while (column >= 0 && static_cast<size_t>(column) < row) {
        const int32_t up =
            std::exchange(ancestors[static_cast<size_t>(column)], static_cast<int32_t>(row));
        if (up < 0) plan.parents_[static_cast<size_t>(column)] = static_cast<int32_t>(row);
        column = up;
      }
    }
  }
  for (size_t row = 0; row < rows; ++row) {
    if (work.cancelled()) return CancelledStep();
    int64_t end = int64_t{plan.starts_.back()} + 1;
    plan.ForRowOfFactor(static_cast<int64_t>(row), mark, [&](int32_t) { ++end; });
    if (end > std::numeric_limits<int32_t>::max()) {
      return ResourceExhausted("the Cholesky factor has more than 2^31 - 1 values");
    }
    plan.starts_.push_back(static_cast<int32_t>(end));
  }
  return plan;
}

// Row by row: element j of row i needs rows i and j up to column j.
template <class T>
Status SparseCholesky::FactorAs(Work& work, int32_t* places, T* values) const {
  std::vector<T> x(static_cast<size_t>(a_.rows));  // the row, its places apart zero
  std::vector<int32_t> mark(x.size(), -1);
  const T* const source = static_cast<const T*>(a_.values);
  for (int64_t row = 0; row < a_.rows; ++row) {
    if (work.cancelled()) return CancelledStep();
    const auto r = static_cast<size_t>(row);
    int32_t* const first = places + starts_[r];
    int32_t* last = first;
    ForRowOfFactor(row, mark, [&](int32_t column) { *last++ = column; });
    std::sort(first, last);
    *last = static_cast<int32_t>(row);
    for (int32_t k = row_starts_[r]; k < row_starts_[r + 1]; ++k) {
      const Element& e = elements_[static_cast<size_t>(k)];
      x[static_cast<size_t>(e.column)] += e.turned ? Conjugate(source[e.source]) : source[e.source];
    }
    T* out = values + starts_[r];
    auto diagonal = std::real(x[r]);
    for (const int32_t* at = first; at != last; ++at, ++out) {
      const auto column = static_cast<size_t>(*at);
      const int32_t end = starts_[column + 1] - 1;  // of the elements before its diagonal
      T value = x[column];
      for (int32_t k = starts_[column]; k < end; ++k) {
        value -= x[static_cast<size_t>(places[k])] * Conjugate(values[k]);
      }
      value /= std::real(values[end]);
      diagonal -= std::norm(value);
      x[column] = *out = value;
    }
    for (const int32_t* at = first; at <= last; ++at) x[static_cast<size_t>(*at)] = T(0);
    if (!(diagonal > 0)) {
      return InvalidArgument("the matrix is not positive definite, its leading part of ", row + 1,
                             " rows is not");
    }
    *out = std::sqrt(diagonal);
  }
  return OkStatus();
}

Status SparseCholesky::Factor(Work& work, DType dtype, int32_t* places, void* values) const {
  return WithType<Types<float, double, std::complex<float>, std::complex<double>>>(
      dtype, "a sparse Cholesky factor",
      [&]<class T>() { return FactorAs(work, places, static_cast<T*>(values)); });
}

}  // namespace thalweg::compute
