// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"

namespace thalweg {
namespace {

// u diag(s) v^H is the input, u and v have orthonormal columns, s falls.
template <class T>
void ExpectDecomposition(const Shape& shape, bool full) {
  using V = std::complex<double>;
  std::vector<T> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const double x = std::sin(1.0 + 3.0 * static_cast<double>(i * i % 17));
    if constexpr (std::is_floating_point_v<T>) {
      values.push_back(static_cast<T>(x));
    } else {
      values.push_back(T(static_cast<typename T::value_type>(x),
                         static_cast<typename T::value_type>(x * x - 0.5)));
    }
  }
  const Tensor input = TensorOf<T>(values, shape);
  const auto out = RunOp("Svd", {input}, {{"full_matrices", full}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const double tolerance = sizeof(T) == 4 || std::is_same_v<T, std::complex<float>> ? 1e-5 : 1e-12;
  const Array<V> a = ToArray<V>(input), s = ToArray<V>((*out)[0]);
  const int64_t m = MatrixAt(a, 0).rows, n = MatrixAt(a, 0).columns, small = std::min(m, n);
  for (int64_t index = 0; index < MatrixCount(a); ++index) {
    const Matrix<V> u = MatrixAt(ToArray<V>((*out)[1]), index);
    const Matrix<V> v = MatrixAt(ToArray<V>((*out)[2]), index);
    ASSERT_EQ(u.columns, full ? m : small);
    ASSERT_EQ(v.columns, full ? n : small);
    Matrix<V> scaled(m, n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        V sum = 0;
        for (int64_t k = 0; k < small; ++k)
          sum += u(i, k) * s[index * small + k] * std::conj(v(j, k));
        EXPECT_LT(std::abs(sum - MatrixAt(a, index)(i, j)), tolerance);
      }
    }
    for (const Matrix<V>& basis : {u, v}) {
      const Matrix<V> identity = basis.Adjoint() * basis;
      for (int64_t i = 0; i < identity.rows; ++i) {
        for (int64_t j = 0; j < identity.rows; ++j) {
          EXPECT_LT(std::abs(identity(i, j) - (i == j ? 1.0 : 0.0)), tolerance);
        }
      }
    }
    for (int64_t k = 1; k < small; ++k) {
      EXPECT_GE(s[index * small + k - 1].real(), s[index * small + k].real());
    }
  }
}

TEST(SvdTest, Decomposes) {
  for (bool full : {false, true}) {
    for (const Shape& shape : {Shape{4, 4}, Shape{5, 3}, Shape{2, 3, 6}, Shape{1, 1}}) {
      ExpectDecomposition<float>(shape, full);
      ExpectDecomposition<double>(shape, full);
      ExpectDecomposition<std::complex<float>>(shape, full);
      ExpectDecomposition<std::complex<double>>(shape, full);
    }
  }
}

// The values alone are the roots of the eigenvalues of a a^T, here in closed form.
constexpr auto kTwoByTwo = [](RefCall<double>& r) {
  Array<double> s(ShapeLike(r.in[0], {2}));
  for (int64_t i = 0; i < MatrixCount(r.in[0]); ++i) {
    const Matrix<double> a = MatrixAt(r.in[0], i);
    double sum = 0, det = 0;
    for (double x : a.values) sum += x * x;
    det = a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0);
    const double root = std::sqrt(sum * sum - 4 * det * det);
    s[2 * i] = std::sqrt((sum + root) / 2);
    s[2 * i + 1] = std::sqrt((sum - root) / 2);
  }
  r.out = {s, Array<double>(Shape{0}), Array<double>(Shape{0})};
};

TEST(SvdTest, ValuesAlone) {
  for (const char* op : {"Svd", "BatchSvd"}) {
    OpCase(op)
        .Reference(kTwoByTwo)
        .Skip(DType::kComplex64, "the closed form is that of real matrices")
        .Skip(DType::kComplex128, "the closed form is that of real matrices")
        .GradOutputs({0})
        .Try({Regular(2)}, {{"compute_uv", false}})
        .Try({Regular(2, {3}, 1)}, {{"compute_uv", false}})
        .Bad({In({3})}, {}, Code::kInvalidArgument, "rank")
        .Run();
  }
}

TEST(SvdTest, NotANumberAndEmpty) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto out = RunOp("Svd", {TensorOf<double>({1, nan, 2, 3}, Shape{2, 2})});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  for (const Tensor& t : *out) EXPECT_TRUE(std::isnan(t.data<double>()[0]));
  out =
      RunOp("Svd", {*Tensor::AllocateHost(DType::kDouble, Shape{3, 0})}, {{"full_matrices", true}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].shape(), Shape{0});
  ASSERT_EQ((*out)[1].shape(), (Shape{3, 3}));
  EXPECT_EQ((*out)[1].data<double>()[4], 1);
}

}  // namespace
}  // namespace thalweg
