// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"

namespace thalweg {
namespace {

constexpr auto kBandedSolve = []<class V>(RefCall<V>& r) {
  const bool lower = r.template Attr<bool>("lower"), adjoint = r.template Attr<bool>("adjoint");
  const Matrix<V> first = MatrixAt(r.in[1], 0);
  const bool by_rhs = MatrixCount(r.in[1]) > MatrixCount(r.in[0]);
  std::vector<Array<V>> batch = {by_rhs ? r.in[1] : r.in[0]};
  r.out = {MapMatrices(batch, first.rows, first.columns, [&](int64_t i) {
    const Matrix<V> bands = MatrixAt(r.in[0], i % MatrixCount(r.in[0]));
    Matrix<V> a(first.rows, first.rows);
    for (int64_t row = 0; row < a.rows; ++row) {
      for (int64_t d = 0; d < bands.rows; ++d) {
        const int64_t column = lower ? row - d : row + d;
        if (column >= 0 && column < a.rows) {
          a(row, column) = bands(lower ? d : bands.rows - 1 - d, row);
        }
      }
    }
    return SolveOf(adjoint ? a.Adjoint() : a, MatrixAt(r.in[1], i % MatrixCount(r.in[1])));
  })};
};

TEST(BandedSolveTest, Cases) {
  const auto bands = [](std::initializer_list<int64_t> dims) { return In(dims).Range(0.5, 2); };
  OpCase("BandedTriangularSolve")
      .Reference(kBandedSolve)
      .Try({bands({2, 5}), In({5, 3})})
      .Try({bands({3, 4}), In({4, 1})}, {{"adjoint", true}})
      .Try({bands({2, 3, 4}), In({2, 4, 2})}, {{"lower", false}})
      .Try({bands({3, 4}), In({2, 4, 2})}, {{"lower", false}, {"adjoint", true}})
      .Try({bands({1, 4}), In({4, 2})})
      .Try({bands({2, 0}), In({0, 2})})
      .Bad({In({2, 3}, {1, 0, 1, 1, 1, 1}), In({3, 1})}, {}, Code::kInvalidArgument,
           "Input matrix is not invertible.")
      .Bad({In({2, 3}), In({4, 1})}, {}, Code::kInvalidArgument, "incompatible")
      .Bad({In({0, 3}), In({3, 1})}, {}, Code::kInvalidArgument, "")
      .Run();
}

// More bands than rows: those that do not fit are not read.
TEST(BandedSolveTest, BandsThatDoNotFit) {
  const auto out =
      RunOp("BandedTriangularSolve", {TensorOf<double>(std::vector<double>(12, 1), Shape{4, 3}),
                                      TensorOf<double>({1, 1, 1}, Shape{3, 1})});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const double expected[] = {1, 0, 0};
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*out)[0].data<double>()[i], expected[i]);
}

}  // namespace
}  // namespace thalweg
