// SPDX-License-Identifier: Apache-2.0
// Eigen as compute/linalg uses it: row-major views of plain memory, no exception beyond Guarded.
// Included by *_linalg.cc only, behind eigen_config.h.
// Ownership: In and Out are views of the caller's memory.
// Threads: any; no state.
// Errors: Guarded makes a LinalgResult of them: kOutOfMemory of std::bad_alloc, kCancelled of
// Looks::Stop, kFailed where `f` says so.
#pragma once

#include <Eigen/Core>
#include <complex>
#include <limits>
#include <new>

#include "thalweg/compute/linalg/kernels.h"

#ifndef THALWEG_LINALG_TYPE
#error "compiled once per element type, see CMakeLists.txt"
#endif

namespace thalweg::compute {

template <class T>
using RowMatrix = ::Eigen::Matrix<T, ::Eigen::Dynamic, ::Eigen::Dynamic, ::Eigen::RowMajor>;

// Of QR, singular values and eigenvalues. Their reflections go column by column, and are one set of
// templates for all decompositions of a unit only if the matrices are of one order.
template <class T>
using ColumnMatrix = ::Eigen::Matrix<T, ::Eigen::Dynamic, ::Eigen::Dynamic>;

template <class T>
::Eigen::Map<const RowMatrix<T>> In(const void* data, int64_t rows, int64_t columns) {
  return {static_cast<const T*>(data), rows, columns};
}
template <class T>
::Eigen::Map<RowMatrix<T>> Out(void* data, int64_t rows, int64_t columns) {
  return {static_cast<T*>(data), rows, columns};
}

template <class T>
constexpr T NotANumber() {
  using Real = typename ::Eigen::NumTraits<T>::Real;
  return T(std::numeric_limits<Real>::quiet_NaN());
}

// f() says whether it found an answer.
template <class F>
LinalgResult Guarded(F&& f) {
  Looks::Begin();
  try {
    return f() ? LinalgResult::kOk : LinalgResult::kFailed;
  } catch (const std::bad_alloc&) {
    return LinalgResult::kOutOfMemory;
  } catch (const Looks::Stop&) {
    return LinalgResult::kCancelled;
  }
}

}  // namespace thalweg::compute
