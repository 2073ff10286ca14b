// SPDX-License-Identifier: Apache-2.0
// What tests of sparse tensors share.
#pragma once

#include <algorithm>
#include <numeric>

#include "thalweg/testing/test_values.h"

namespace thalweg {

// The rows of a matrix of indices in lexicographical order; equal ones as they came.
template <class V>
std::vector<int64_t> SortedRows(const Array<V>& indices) {
  const int64_t rank = indices.shape.dim(1);
  std::vector<int64_t> order(static_cast<size_t>(indices.shape.dim(0)));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    for (int64_t d = 0; d < rank; ++d) {
      const double x = std::real(indices[a * rank + d]), y = std::real(indices[b * rank + d]);
      if (x != y) return x < y;
    }
    return false;
  });
  return order;
}

// The dense array of a sparse one, by adding up; V may be complex.
template <class V>
Array<V> Dense(const Array<V>& indices, const Array<V>& values, const Array<V>& shape) {
  Dims dims;
  for (const V& d : shape.values) dims.push_back(static_cast<int64_t>(std::real(d)));
  Array<V> dense{Shape(dims)};
  const int64_t rank = dims.size();
  for (int64_t i = 0; i < values.size(); ++i) {
    std::vector<int64_t> at;
    for (int64_t d = 0; d < rank; ++d) {
      at.push_back(static_cast<int64_t>(std::real(indices[i * rank + d])));
    }
    dense.At(at) += values[i];
  }
  return dense;
}

}  // namespace thalweg
