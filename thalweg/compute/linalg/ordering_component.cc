// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/linalg/kernels.h"

#define EIGEN_NO_DEBUG
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#define EIGEN_NO_IO

#include <Eigen/SparseCore>
// Needs SparseCore before it.
#include <Eigen/OrderingMethods>
#include <algorithm>
#include <new>
#include <vector>

namespace thalweg::compute {

LinalgResult Ordering::MinimumDegree(int32_t n, const int32_t* starts, const int32_t* columns,
                                     int32_t* order) {
  using Pattern = ::Eigen::SparseMatrix<float, ::Eigen::RowMajor, int32_t>;
  try {
    const std::vector<float> ones(static_cast<size_t>(starts[n]), 1);
    const ::Eigen::Map<const Pattern> pattern(n, n, starts[n], starts, columns, ones.data());
    ::Eigen::PermutationMatrix<::Eigen::Dynamic, ::Eigen::Dynamic, int32_t> found(n);
    ::Eigen::AMDOrdering<int32_t>()(pattern.selfadjointView<::Eigen::Lower>(), found);
    std::copy_n(found.indices().data(), n, order);
    return LinalgResult::kOk;
  } catch (const std::bad_alloc&) {
    return LinalgResult::kOutOfMemory;
  }
}

}  // namespace thalweg::compute
