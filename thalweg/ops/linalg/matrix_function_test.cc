// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// Denman and Beavers' iteration.
constexpr auto kRoot = []<class V>(RefCall<V>& r) {
  const int64_t n = r.in[0].shape.dim(r.in[0].shape.rank() - 1);
  r.out = {MapMatrices(r.in, n, n, [&](int64_t index) {
    Matrix<V> y = MatrixAt(r.in[0], index), z = Matrix<V>::Identity(n);
    for (int step = 0; step < 40; ++step) {
      const Matrix<V> iy = SolveOf(y, Matrix<V>::Identity(n)),
                      iz = SolveOf(z, Matrix<V>::Identity(n));
      for (size_t i = 0; i < y.values.size(); ++i) {
        y.values[i] = (y.values[i] + iz.values[i]) / 2.0;
        z.values[i] = (z.values[i] + iy.values[i]) / 2.0;
      }
    }
    return y;
  })};
};

template <class V>
Matrix<V> ExponentialOf(const Matrix<V>& a) {
  Matrix<V> sum = Matrix<V>::Identity(a.rows), term = sum;
  for (int k = 1; k < 80; ++k) {
    term = term * a;
    for (V& x : term.values) x /= static_cast<double>(k);
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i];
  }
  return sum;
}

constexpr auto kExponential = []<class V>(RefCall<V>& r) {
  const int64_t n = r.in[0].shape.dim(r.in[0].shape.rank() - 1);
  r.out = {MapMatrices(r.in, n, n,
                       [&](int64_t index) { return ExponentialOf(MatrixAt(r.in[0], index)); })};
};

TEST(MatrixFunctionTest, SquareRoot) {
  OpCase("MatrixSquareRoot")
      .Reference(kRoot)
      .Try({Regular(1)})
      .Try({Regular(4)})
      .Try({Regular(3, {2, 2})})
      .Try({In({2, 0, 0})})
      .Bad({In({3, 2})}, {}, Code::kInvalidArgument, "square")
      .Run();
}

TEST(MatrixFunctionTest, Exponential) {
  OpCase("MatrixExponential")
      .Reference(kExponential)
      .Tolerance(DType::kFloat, ToleranceOf(OpClass::kLinear, DType::kFloat))
      .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kLinear, DType::kComplex64))
      .Try({In({1, 1})})
      .Try({In({4, 4})})
      .Try({Regular(3, {2, 2}, -3)})
      .Try({In({2, 0, 0})})
      .Bad({In({3, 2})}, {}, Code::kInvalidArgument, "square")
      .Run();
}

TEST(MatrixFunctionTest, LogarithmUndoesTheExponential) {
  using V = std::complex<double>;
  for (double scale : {1e-3, 1.0, 40.0}) {
    std::vector<V> values = {{1, 2}, {-1, 0}, {0, 3},  {0.5, -1}, {2, 2},
                             {0, 0}, {1, 1},  {-2, 0}, {4, -1}};
    for (V& x : values) x *= scale;
    const auto out = RunOp("MatrixLogarithm", {TensorOf<V>(values, Shape{3, 3})});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    const Matrix<V> back = ExponentialOf(MatrixAt(ToArray<V>((*out)[0]), 0));
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_LT(std::abs(back.values[i] - values[i]), 1e-12 * (1 + scale));
    }
  }
}

// Values of TensorFlow 2.21, but for the singular matrix, over which it does not end.
TEST(MatrixFunctionTest, WhereThereIsNone) {
  using V = std::complex<double>;
  const auto real = RunOp("MatrixSquareRoot", {TensorOf<double>({1, 5, 2, 7}, Shape{2, 2})});
  ASSERT_TRUE(real.ok());
  EXPECT_TRUE(std::isnan((*real)[0].data<double>()[3]));
  const auto log = RunOp("MatrixLogarithm", {TensorOf<V>({1, 5, 2, 7}, Shape{2, 2})});
  ASSERT_TRUE(log.ok());
  EXPECT_LT(std::abs((*log)[0].data<V>()[1] - V(1.8055254195592703, -1.80182696036417)), 1e-12);
  const auto singular =
      RunOp("MatrixLogarithm", {TensorOf<V>({1, 2, 3, 2, 4, 6, 0, 1, 1}, Shape{3, 3})});
  ASSERT_TRUE(singular.ok());
  // Ten steps are not enough for the leading block.
  EXPECT_TRUE(
      RunOp("MatrixSquareRoot", {TensorOf<double>({1e-40, 1e300, 2, -1}, Shape{2, 2})}).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto of_nan = RunOp("MatrixExponential", {TensorOf<double>({nan}, Shape{1, 1})});
  ASSERT_TRUE(of_nan.ok());
  EXPECT_TRUE(std::isnan(*(*of_nan)[0].data<double>()));
}

}  // namespace
}  // namespace thalweg
