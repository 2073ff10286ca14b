// SPDX-License-Identifier: Apache-2.0
// Matrices in double (or complex) as references of op cases compute with them: plain loops.
#pragma once

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {

template <class T>
Tensor TensorOf(const std::vector<T>& values, const Shape& shape) {
  return Tensor::Of<T>(values, shape);
}

template <class V>
V ConjugateOf(V x) {
  if constexpr (std::is_same_v<V, double>) {
    return x;
  } else {
    return std::conj(x);
  }
}

template <class V>
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<V> values;

  Matrix(int64_t r, int64_t c) : rows(r), columns(c), values(static_cast<size_t>(r * c)) {}
  V& operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  const V& operator()(int64_t i, int64_t j) const {
    return values[static_cast<size_t>(i * columns + j)];
  }
  static Matrix Identity(int64_t n) {
    Matrix made(n, n);
    for (int64_t i = 0; i < n; ++i) made(i, i) = 1;
    return made;
  }
  Matrix Adjoint() const {
    Matrix made(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) made(j, i) = ConjugateOf((*this)(i, j));
    }
    return made;
  }
  friend Matrix operator*(const Matrix& a, const Matrix& b) {
    Matrix made(a.rows, b.columns);
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t k = 0; k < a.columns; ++k) {
        for (int64_t j = 0; j < b.columns; ++j) made(i, j) += a(i, k) * b(k, j);
      }
    }
    return made;
  }
};

// Gauss and Jordan with the largest pivot; the determinant goes to *det.
template <class V>
Matrix<V> SolveOf(Matrix<V> a, Matrix<V> b, V* det = nullptr) {
  V product = 1;
  for (int64_t k = 0; k < a.rows; ++k) {
    int64_t best = k;
    for (int64_t i = k; i < a.rows; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    }
    if (best != k) {
      product = -product;
      for (int64_t j = 0; j < a.columns; ++j) std::swap(a(k, j), a(best, j));
      for (int64_t j = 0; j < b.columns; ++j) std::swap(b(k, j), b(best, j));
    }
    product *= a(k, k);
    for (int64_t i = 0; i < a.rows; ++i) {
      if (i == k) continue;
      const V factor = a(i, k) / a(k, k);
      for (int64_t j = 0; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
      for (int64_t j = 0; j < b.columns; ++j) b(i, j) -= factor * b(k, j);
    }
  }
  for (int64_t i = 0; i < b.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) b(i, j) /= a(i, i);
  }
  if (det != nullptr) *det = product;
  return b;
}

template <class V>
int64_t MatrixCount(const Array<V>& array) {
  int64_t count = 1;
  for (int d = 0; d + 2 < array.shape.rank(); ++d) count *= array.shape.dim(d);
  return count;
}

template <class V>
Matrix<V> MatrixAt(const Array<V>& array, int64_t index) {
  const int rank = array.shape.rank();
  Matrix<V> made(array.shape.dim(rank - 2), array.shape.dim(rank - 1));
  const int64_t size = made.rows * made.columns;
  for (int64_t i = 0; i < size; ++i) made.values[static_cast<size_t>(i)] = array[index * size + i];
  return made;
}

// [leading dimensions of `like`, last...]
template <class V>
Shape ShapeLike(const Array<V>& like, std::vector<int64_t> last) {
  Dims dims = like.shape.dims();
  dims.resize(like.shape.rank() - 2);
  for (int64_t dim : last) dims.push_back(dim);
  return Shape(dims);
}

// What f gives for every matrix of the first input (and of the second, when there is one), as one
// output of matrices.
template <class V, class F>
Array<V> MapMatrices(const std::vector<Array<V>>& in, int64_t rows, int64_t columns, const F& f) {
  Array<V> out(ShapeLike(in[0], {rows, columns}));
  for (int64_t i = 0; i < MatrixCount(in[0]); ++i) {
    const Matrix<V> made = f(i);
    std::copy(made.values.begin(), made.values.end(), out.values.begin() + i * rows * columns);
  }
  return out;
}

// Random matrices far from singular: `scale` on the diagonal.
inline In Regular(int64_t n, std::initializer_list<int64_t> leading = {}, double scale = 4) {
  std::mt19937 engine(static_cast<uint32_t>(17 * n + static_cast<int64_t>(leading.size())));
  std::uniform_real_distribution<double> uniform(-1, 1);
  int64_t count = 1;
  for (int64_t d : leading) count *= d;
  std::vector<double> values;
  for (int64_t i = 0; i < count * n * n; ++i) {
    const bool diagonal = (i % (n * n)) / n == i % n;
    values.push_back(uniform(engine) + (diagonal ? scale + 0.25 * static_cast<double>(i % n) : 0));
  }
  In made({}, values);
  Dims dims;
  for (int64_t d : leading) dims.push_back(d);
  dims.push_back(n);
  dims.push_back(n);
  made.shape = Shape(dims);
  return made;
}

// Symmetric ones; positive definite with a large enough `scale`.
inline In Symmetric(int64_t n, std::initializer_list<int64_t> leading = {}, double scale = 6) {
  In made = Regular(n, leading, scale);
  const std::vector<double> plain = made.values;
  for (size_t i = 0; i < plain.size(); ++i) {
    const auto size = static_cast<size_t>(n * n), order = static_cast<size_t>(n);
    const size_t base = i / size * size, row = i % size / order, column = i % order;
    made.values[i] = (plain[i] + plain[base + column * order + row]) / 2;
  }
  return made;
}

}  // namespace thalweg
