// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"

namespace thalweg {
namespace {

template <class V>
std::vector<V> Determinants(const Array<V>& in) {
  std::vector<V> all;
  for (int64_t i = 0; i < MatrixCount(in); ++i) {
    const Matrix<V> a = MatrixAt(in, i);
    V det = 1;
    SolveOf(a, Matrix<V>(a.rows, 0), &det);
    all.push_back(det);
  }
  return all;
}

constexpr auto kDeterminant = []<class V>(RefCall<V>& r) {
  r.out = {Array<V>(ShapeLike(r.in[0], {}), Determinants(r.in[0]))};
};

constexpr auto kLogDeterminant = []<class V>(RefCall<V>& r) {
  Array<V> sign(ShapeLike(r.in[0], {})), log_abs(sign.shape);
  const std::vector<V> all = Determinants(r.in[0]);
  for (size_t i = 0; i < all.size(); ++i) {
    sign.values[i] = all[i] / std::abs(all[i]);
    log_abs.values[i] = std::log(std::abs(all[i]));
  }
  r.out = {sign, log_abs};
};

TEST(DeterminantTest, Determinant) {
  for (const char* op : {"MatrixDeterminant", "BatchMatrixDeterminant"}) {
    OpCase(op)
        .Reference(kDeterminant)
        .Try({Regular(1)})
        .Try({Regular(4)})
        .Try({Regular(3, {2, 3}, -2)})
        .Try({In({0, 3, 3})})
        .Bad({In({3, 2})}, {}, Code::kInvalidArgument, "square")
        .Bad({In({3})}, {}, Code::kInvalidArgument, "rank")
        .Run();
  }
}

TEST(DeterminantTest, LogDeterminant) {
  OpCase("LogMatrixDeterminant")
      .Reference(kLogDeterminant)
      .GradOutputs({1})
      .Try({Regular(4)})
      .Try({Regular(3, {2, 3}, -2)})
      .Bad({In({3, 2})}, {}, Code::kInvalidArgument, "square")
      .Run();
}

TEST(DeterminantTest, EmptyAndSingular) {
  const auto of = [](const char* op, const Tensor& in, size_t output) {
    const auto out = RunOp(op, {in});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return *(*out)[output].data<double>();
  };
  const Tensor empty = *Tensor::AllocateHost(DType::kDouble, Shape{1, 0, 0});
  const Tensor singular = TensorOf<double>({1, 2, 2, 4}, Shape{2, 2});
  EXPECT_EQ(of("MatrixDeterminant", empty, 0), 1);
  EXPECT_EQ(of("LogMatrixDeterminant", empty, 0), 1);
  EXPECT_EQ(of("LogMatrixDeterminant", empty, 1), 0);
  EXPECT_EQ(of("MatrixDeterminant", singular, 0), 0);
  EXPECT_EQ(of("LogMatrixDeterminant", singular, 0), 0);
  EXPECT_EQ(of("LogMatrixDeterminant", singular, 1), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace thalweg
