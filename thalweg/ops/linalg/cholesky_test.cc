// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"

namespace thalweg {
namespace {

constexpr auto kFactor = []<class V>(RefCall<V>& r) {
  const int64_t n = r.in[0].shape.dim(r.in[0].shape.rank() - 1);
  r.out = {MapMatrices(r.in, n, n, [&](int64_t index) {
    const Matrix<V> a = MatrixAt(r.in[0], index);
    Matrix<V> l(n, n);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) {
        V rest = a(i, j);
        for (int64_t k = 0; k < j; ++k) rest -= l(i, k) * ConjugateOf(l(j, k));
        l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
      }
    }
    return l;
  })};
};

TEST(CholeskyTest, Factor) {
  for (const char* op : {"Cholesky", "BatchCholesky"}) {
    OpCase(op)
        .Reference(kFactor)
        .Try({Symmetric(1)})
        .Try({Symmetric(5)})
        .Try({Symmetric(3, {2, 2})})
        .Try({In({2, 0, 0})})
        .Bad({In({2, 3})}, {}, Code::kInvalidArgument, "square")
        .Bad({In({3})}, {}, Code::kInvalidArgument, "rank")
        .NoGradient("the derivative is that of symmetric inputs: see GradientOfSymmetricInputs")
        .Run();
  }
}

TEST(CholeskyTest, NotANumberWhereThereIsNoFactor) {
  const Tensor indefinite = TensorOf<double>({1, 2, 2, 1, 4, 2, 2, 5}, Shape{2, 2, 2});
  const Result<std::vector<Tensor>> out = RunOp("Cholesky", {indefinite});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const double* l = (*out)[0].data<double>();
  EXPECT_TRUE(std::isnan(l[0]) && std::isnan(l[2]) && std::isnan(l[3]));
  EXPECT_EQ(l[1], 0);
  EXPECT_EQ(l[4], 2);
  EXPECT_EQ(l[5], 0);
  EXPECT_EQ(l[6], 1);
  EXPECT_EQ(l[7], 2);
}

// Against differences along symmetric directions.
TEST(CholeskyTest, GradientOfSymmetricInputs) {
  constexpr int64_t n = 4;
  std::vector<double> a = Symmetric(n).values;
  std::vector<double> weights(n * n);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5 + 0.1 * static_cast<double>(i % 7);
  const auto factor = [&](const std::vector<double>& values) {
    const auto out = RunOp("Cholesky", {TensorOf<double>(values, Shape{n, n})});
    EXPECT_TRUE(out.ok());
    return (*out)[0];
  };
  const auto loss = [&](const std::vector<double>& values) {
    const Tensor l = factor(values);
    double sum = 0;
    for (int64_t i = 0; i < n * n; ++i)
      sum += weights[static_cast<size_t>(i)] * l.data<double>()[i];
    return sum;
  };
  const auto grad = RunOp("CholeskyGrad", {factor(a), TensorOf<double>(weights, Shape{n, n})});
  ASSERT_TRUE(grad.ok()) << grad.status().ToString();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      std::vector<double> up = a, down = a;
      constexpr double kStep = 1e-6;
      for (int64_t at : {i * n + j, j * n + i}) {
        up[static_cast<size_t>(at)] = a[static_cast<size_t>(at)] + kStep;
        down[static_cast<size_t>(at)] = a[static_cast<size_t>(at)] - kStep;
      }
      const double numeric = (loss(up) - loss(down)) / (2 * kStep);
      const double* g = (*grad)[0].data<double>();
      const double exact = i == j ? g[i * n + i] : g[i * n + j] + g[j * n + i];
      EXPECT_NEAR(numeric, exact, 1e-7) << i << ", " << j;
    }
  }
}

// Values of TensorFlow 2.21.
TEST(CholeskyGradTest, RecordedValues) {
  for (const char* op : {"CholeskyGrad", "BatchCholeskyGrad"}) {
    const auto out = RunOp(op, {TensorOf<double>({2, 0, 1, 3}, Shape{2, 2}),
                                TensorOf<double>({1, 9, 2, 3}, Shape{2, 2})});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    const double expected[] = {0.125, 0.25, 0.25, 0.5};
    for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ((*out)[0].data<double>()[i], expected[i]);
    EXPECT_EQ(
        RunOp(op, {TensorOf<double>({2, 0, 1, 3}, Shape{2, 2}), TensorOf<double>({1}, Shape{1, 1})})
            .status()
            .code(),
        Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace thalweg
