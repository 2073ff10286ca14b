// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/boosted_trees/split_gain.h"

#include <utility>
#include <vector>

namespace thalweg {
namespace {

constexpr double kLeastHessian = 1e-15;

// x of (H + l2 I) x = -g by elimination with the largest pivot of what is left; where that is
// nothing, the rest of x is zero.
void SolveLeaf(std::span<const float> g, std::span<const float> hessian, double l2,
               std::span<float> x) {
  const size_t n = g.size();
  std::vector<double> a(hessian.begin(), hessian.end()), b(n), found(n);
  std::vector<size_t> columns(n);
  for (size_t i = 0; i < n; ++i) {
    a[i * n + i] += l2;
    b[i] = -static_cast<double>(g[i]);
    columns[i] = i;
  }
  size_t rank = 0;
  for (; rank < n; ++rank) {
    size_t row = rank, column = rank;
    for (size_t i = rank; i < n; ++i) {
      for (size_t k = rank; k < n; ++k) {
        if (std::abs(a[i * n + k]) > std::abs(a[row * n + column])) row = i, column = k;
      }
    }
    if (!(std::abs(a[row * n + column]) > kLeastHessian)) break;
    for (size_t k = 0; k < n; ++k) std::swap(a[rank * n + k], a[row * n + k]);
    std::swap(b[rank], b[row]);
    for (size_t i = 0; i < n; ++i) std::swap(a[i * n + rank], a[i * n + column]);
    std::swap(columns[rank], columns[column]);
    for (size_t i = rank + 1; i < n; ++i) {
      const double factor = a[i * n + rank] / a[rank * n + rank];
      for (size_t k = rank; k < n; ++k) a[i * n + k] -= factor * a[rank * n + k];
      b[i] -= factor * b[rank];
    }
  }
  for (size_t i = rank; i-- > 0;) {
    double sum = b[i];
    for (size_t k = i + 1; k < rank; ++k) sum -= a[i * n + k] * found[k];
    found[i] = sum / a[i * n + i];
  }
  for (size_t i = 0; i < n; ++i) x[columns[i]] = static_cast<float>(found[i]);
}

}  // namespace

float WeightsAndGain(std::span<const float> gradients, std::span<const float> hessians, float l2,
                     std::span<float> weights) {
  if (hessians.size() == gradients.size()) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      const float hessian = hessians[i] + l2;
      weights[i] = static_cast<double>(hessian) <= kLeastHessian ? 0.0F : -gradients[i] / hessian;
    }
  } else {
    SolveLeaf(gradients, hessians, static_cast<double>(l2), weights);
  }
  float gain = 0;
  for (size_t i = 0; i < gradients.size(); ++i) gain += -gradients[i] * weights[i];
  return gain;
}

}  // namespace thalweg
