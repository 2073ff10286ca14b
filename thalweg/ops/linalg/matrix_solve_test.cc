// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

template <class V>
Matrix<V> MaybeAdjoint(const Matrix<V>& a, const RefCall<V>& r) {
  return r.template Attr<bool>("adjoint") ? a.Adjoint() : a;
}

constexpr auto kInverse = []<class V>(RefCall<V>& r) {
  const int64_t n = r.in[0].shape.dim(r.in[0].shape.rank() - 1);
  r.out = {MapMatrices(r.in, n, n, [&](int64_t i) {
    return SolveOf(MaybeAdjoint(MatrixAt(r.in[0], i), r), Matrix<V>::Identity(n));
  })};
};

constexpr auto kSolve = []<class V>(RefCall<V>& r) {
  const Matrix<V> first = MatrixAt(r.in[1], 0);
  r.out = {MapMatrices(r.in, first.rows, first.columns, [&](int64_t i) {
    return SolveOf(MaybeAdjoint(MatrixAt(r.in[0], i), r), MatrixAt(r.in[1], i));
  })};
};

// One triangle of a; the batch of either input may be one matrix.
constexpr auto kTriangularSolve = []<class V>(RefCall<V>& r) {
  const bool lower = r.template Attr<bool>("lower");
  const Matrix<V> first = MatrixAt(r.in[1], 0);
  const bool by_rhs = MatrixCount(r.in[1]) > MatrixCount(r.in[0]);
  std::vector<Array<V>> batch = {by_rhs ? r.in[1] : r.in[0]};
  r.out = {MapMatrices(batch, first.rows, first.columns, [&](int64_t i) {
    Matrix<V> a = MatrixAt(r.in[0], i % MatrixCount(r.in[0]));
    for (int64_t row = 0; row < a.rows; ++row) {
      for (int64_t column = 0; column < a.columns; ++column) {
        if (lower ? column > row : column < row) a(row, column) = 0;
      }
    }
    return SolveOf(MaybeAdjoint(a, r), MatrixAt(r.in[1], i % MatrixCount(r.in[1])));
  })};
};

// Normal equations; with l2 they serve wide matrices too.
constexpr auto kLeastSquares = []<class V>(RefCall<V>& r) {
  const Matrix<V> first = MatrixAt(r.in[0], 0), right = MatrixAt(r.in[1], 0);
  const bool fast = r.template Attr<bool>("fast");
  r.out = {MapMatrices(r.in, first.columns, right.columns, [&](int64_t i) {
    const Matrix<V> a = MatrixAt(r.in[0], i);
    Matrix<V> gramian = a.Adjoint() * a;
    for (int64_t k = 0; fast && k < gramian.rows; ++k) gramian(k, k) += r.in[2][0];
    return SolveOf(gramian, a.Adjoint() * MatrixAt(r.in[1], i));
  })};
};

TEST(MatrixSolveTest, Inverse) {
  OpCase("MatrixInverse")
      .Reference(kInverse)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kLinear, DType::kHalf))
      .Try({Regular(5)})
      .Try({Regular(3, {2, 2})}, {{"adjoint", true}})
      .Try({In({2, 0, 0})})
      .Bad({In({2, 2}, {1, 2, 2, 4})}, {}, Code::kInvalidArgument, "Input is not invertible.")
      .Bad({In({2, 3})}, {}, Code::kInvalidArgument, "square")
      .Run();
  OpCase("BatchMatrixInverse").Reference(kInverse).Try({Regular(3, {4})}).Run();
}

TEST(MatrixSolveTest, Solve) {
  for (const char* op : {"MatrixSolve", "BatchMatrixSolve"}) {
    OpCase(op)
        .Reference(kSolve)
        .Try({Regular(5), In({5, 3})})
        .Try({Regular(3, {2, 2}), In({2, 2, 3, 1})}, {{"adjoint", true}})
        .Try({In({2, 0, 0}), In({2, 0, 3})})
        .Bad({In({2, 2}, {0, 0, 0, 0}), In({2, 1})}, {}, Code::kInvalidArgument,
             "Input matrix is not invertible.")
        .Bad({Regular(2), In({3, 1})}, {}, Code::kInvalidArgument, "incompatible")
        .Bad({Regular(2, {2}), In({3, 2, 1})}, {}, Code::kInvalidArgument,
             "Dimension 0 in both shapes must be equal, but are 2 and 3",
             "All input tensors must have the same outer dimensions")
        .Run();
  }
}

TEST(MatrixSolveTest, TriangularSolve) {
  for (const char* op : {"MatrixTriangularSolve", "BatchMatrixTriangularSolve"}) {
    OpCase(op)
        .Reference(kTriangularSolve)
        .Try({Regular(5), In({5, 3})})
        .Try({Regular(3, {2, 2}), In({2, 2, 3, 1})}, {{"adjoint", true}})
        .Try({Regular(3), In({4, 3, 2})}, {{"lower", false}})
        .Try({Regular(3, {4}), In({3, 2})}, {{"lower", false}, {"adjoint", true}})
        .Try({In({0, 0}), In({0, 3})})
        .Bad({In({2, 3}), In({2, 1})}, {}, Code::kInvalidArgument, "square")
        .Bad({Regular(2), In({3, 1})}, {}, Code::kInvalidArgument, "incompatible")
        .Bad({Regular(2, {2}), In({3, 2, 1})}, {}, Code::kInvalidArgument,
             "the leading dimensions disagree")
        .Run();
  }
}

TEST(MatrixSolveTest, TriangularSolveDividesByZero) {
  const auto out = RunOp("MatrixTriangularSolve", {TensorOf<double>({0, 0, 0, 0}, Shape{2, 2}),
                                                   TensorOf<double>({1, 1}, Shape{2, 1})});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_TRUE(std::isinf((*out)[0].data<double>()[0]));
  EXPECT_TRUE(std::isnan((*out)[0].data<double>()[1]));
}

TEST(MatrixSolveTest, LeastSquares) {
  const In l2({}, {0.5}), none({}, {0});
  const char* why = "needs known shapes: see LeastSquaresGradient";
  for (const char* op : {"MatrixSolveLs", "BatchMatrixSolveLs"}) {
    OpCase(op)
        .Reference(kLeastSquares)
        .NoGradient(why)
        .Tolerance(DType::kFloat, ToleranceOf(OpClass::kLinear, DType::kFloat))
        .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kLinear, DType::kComplex64))
        .Try({Regular(4), In({4, 2}), none})
        .Try({In({7, 3}), In({7, 2}), l2})
        .Try({In({2, 3, 5}), In({2, 3, 2}), l2})
        .Try({In({7, 3}), In({7, 2}), none}, {{"fast", false}})
        .Try({In({0, 3}), In({0, 2}), l2})
        .Bad({In({2, 2}, {1, 2, 2, 4}), In({2, 1}), none}, {}, Code::kInvalidArgument,
             "rank deficient or ill-conditioned")
        .Bad({Regular(2), In({2, 1}), In({}, {-1})}, {}, Code::kInvalidArgument, "must be >= 0")
        .Bad({Regular(2), In({3, 1}), none}, {}, Code::kInvalidArgument, "incompatible")
        .Run();
  }
}

// p a = l u.
TEST(LuTest, ProductGivesTheRows) {
  for (DType index : {DType::kInt32, DType::kInt64}) {
    const Tensor a = TensorOf<double>({1, 2, 3, 4, 5, 6.5, 7, 8, 9.75}, Shape{3, 3});
    const auto out = RunOp("Lu", {a}, {{"output_idx_type", index}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    const double* lu = (*out)[0].data<double>();
    ASSERT_EQ((*out)[1].dtype(), index);
    const int64_t expected[] = {2, 0, 1};  // TensorFlow's
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t p =
          index == DType::kInt32 ? (*out)[1].data<int32_t>()[i] : (*out)[1].data<int64_t>()[i];
      EXPECT_EQ(p, expected[i]);
      for (int64_t j = 0; j < 3; ++j) {
        double sum = 0;
        for (int64_t k = 0; k <= std::min(i, j); ++k) {
          sum += (k == i ? 1 : lu[i * 3 + k]) * lu[k * 3 + j];
        }
        EXPECT_NEAR(sum, a.data<double>()[p * 3 + j], 1e-12);
      }
    }
  }
}

TEST(LuTest, RefusesSingularMatrices) {
  const auto out = RunOp("Lu", {TensorOf<float>({1, 2, 2, 4}, Shape{2, 2})});
  EXPECT_EQ(out.status().code(), Code::kInvalidArgument);
  EXPECT_NE(out.status().message().find("Input is not invertible."), std::string::npos);
  EXPECT_TRUE(RunOp("Lu", {*Tensor::AllocateHost(DType::kFloat, Shape{2, 0, 0})}).ok());
}

}  // namespace
}  // namespace thalweg
