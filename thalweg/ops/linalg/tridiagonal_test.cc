// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// Row i: sub[i] at i - 1, main[i] at i, super[i] at i + 1.
template <class V, class At>
Matrix<V> Tridiagonal(int64_t n, const At& at) {
  Matrix<V> a(n, n);
  for (int64_t i = 0; i < n; ++i) {
    if (i + 1 < n) a(i, i + 1) = at(0, i);
    a(i, i) = at(1, i);
    if (i > 0) a(i, i - 1) = at(2, i);
  }
  return a;
}

constexpr auto kTridiagonalSolve = []<class V>(RefCall<V>& r) {
  const Matrix<V> first = MatrixAt(r.in[1], 0);
  r.out = {MapMatrices(r.in, first.rows, first.columns, [&](int64_t index) {
    const Matrix<V> d = MatrixAt(r.in[0], index);
    const Matrix<V> a =
        Tridiagonal<V>(first.rows, [&](int64_t row, int64_t i) { return d(row, i); });
    return SolveOf(a, MatrixAt(r.in[1], index));
  })};
};

constexpr auto kProduct = []<class V>(RefCall<V>& r) {
  const Matrix<V> first = MatrixAt(r.in[3], 0);
  r.out = {MapMatrices(r.in, first.rows, first.columns, [&](int64_t index) {
    const Matrix<V> a = Tridiagonal<V>(first.rows, [&](int64_t row, int64_t i) {
      return MatrixAt(r.in[static_cast<size_t>(row)], index)(0, i);
    });
    return a * MatrixAt(r.in[3], index);
  })};
};

TEST(TridiagonalTest, Solve) {
  // The pivots have to be exchanged in the first one.
  const In small({3, 4}, {3, -2, 4, 9, 0.5, 1, 0.25, 2, 9, 2, -3, 5});
  OpCase("TridiagonalSolve")
      .Reference(kTridiagonalSolve)
      .Tolerance(DType::kFloat, ToleranceOf(OpClass::kLinear, DType::kFloat))
      .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kLinear, DType::kComplex64))
      .Try({small, In({4, 2})})
      .Try({In({2, 3, 5}).Range(1, 2), In({2, 5, 1})}, {{"partial_pivoting", false}})
      .Try({In({3, 1}, {1, 2, 3}), In({1, 2})})
      .Try({In({3, 2}, {1, 1, 2, 1, 3, 1}), In({2, 1})})
      .Try({In({3, 0}), In({0, 1})})
      .Bad({In({2, 3}), In({3, 1})}, {}, Code::kInvalidArgument,
           "Dimension must be 3 but is 2 for ", "3 rows")
      .Bad({In({3, 3}), In({4, 1})}, {}, Code::kInvalidArgument,
           "Dimensions must be equal, but are 3 and 4 for ", "same number")
      .Bad({In({2, 3, 3}), In({3, 1})}, {}, Code::kInvalidArgument,
           "Shapes must be equal rank, but are 1 and 0 for ", "")
      .Bad({In({2, 3, 3}), In({4, 3, 1})}, {}, Code::kInvalidArgument,
           "Dimension 0 in both shapes must be equal, but are 2 and 4. Shapes are [2] and [4].", "")
      .Bad({In({3, 3}), In({3, 1})}, {{"partial_pivoting", false}, {"perturb_singular", true}},
           Code::kInvalidArgument, "perturb_singular")
      .Run();
}

TEST(TridiagonalTest, Product) {
  OpCase("TridiagonalMatMul")
      .Reference(kProduct)
      .Try({In({1, 4}), In({1, 4}), In({1, 4}), In({4, 3})})
      .Try({In({2, 1, 3}), In({2, 1, 3}), In({2, 1, 3}), In({2, 3, 1})})
      .Try({In({1, 1}), In({1, 1}), In({1, 1}), In({1, 2})})
      .Bad({In({1, 3}), In({1, 4}), In({1, 4}), In({4, 3})}, {}, Code::kInvalidArgument,
           "Dimension 1 in both shapes must be equal, but are 3 and 4. Shapes are [1,3] and [1,4].",
           "superdiag")
      .Bad({In({1, 4}), In({2, 4}), In({1, 4}), In({4, 3})}, {}, Code::kInvalidArgument,
           "Dimension 0 in both shapes must be equal, but are 1 and 2. Shapes are [1,4] and [2,4].",
           "maindiag")
      .Bad({In({1, 4}), In({1, 4}), In({1, 4}), In({5, 3})}, {}, Code::kInvalidArgument,
           "Dimensions must be equal, but are 4 and 5 for ", "superdiag")
      .Bad({In({4}), In({1, 4}), In({1, 4}), In({4, 3})}, {}, Code::kInvalidArgument, "rank")
      .Run();
}

// Values of TensorFlow 2.21.
TEST(TridiagonalTest, SingularSystems) {
  const auto solve = [](std::vector<double> diagonals, bool perturb) {
    const auto n = static_cast<int64_t>(diagonals.size() / 3);
    const auto out =
        RunOp("TridiagonalSolve",
              {TensorOf<double>(diagonals, Shape{3, n}),
               TensorOf<double>(std::vector<double>(static_cast<size_t>(n), 1), Shape{n, 1})},
              {{"perturb_singular", perturb}});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return std::vector<double>((*out)[0].data<double>(), (*out)[0].data<double>() + n);
  };
  EXPECT_TRUE(std::isnan(solve({1, 0, 1, 1, 0, 1}, false)[0]));
  EXPECT_EQ(solve({1, 0, 1, 1, 0, 1}, true), (std::vector<double>{1, 0}));
  const std::vector<double> three = solve({1, 1, 0, 1, 1, 0, 0, 1, 0}, true);
  EXPECT_NEAR(three[0] / 2.028240960365167e+31, 1, 1e-12);
  EXPECT_NEAR(three[2] / 4.503599627370496e+15, 1, 1e-12);
  EXPECT_NEAR(solve(std::vector<double>(9, 0), true)[1] / 4.49423283715579e+307, 1, 1e-12);
}

}  // namespace
}  // namespace thalweg
