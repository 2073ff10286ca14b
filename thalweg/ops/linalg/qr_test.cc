// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/linalg/test_matrices.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// Householder's way, with the signs that TensorFlow has: r(k, k) has the opposite sign of the real
// part of what was there.
constexpr auto kHouseholder = []<class V>(RefCall<V>& r) {
  const Matrix<V> first = MatrixAt(r.in[0], 0);
  const int64_t m = first.rows, n = first.columns, small = std::min(m, n);
  const int64_t p = r.template Attr<bool>("full_matrices") ? m : small;
  std::vector<Matrix<V>> qs, rs;
  for (int64_t index = 0; index < MatrixCount(r.in[0]); ++index) {
    Matrix<V> a = MatrixAt(r.in[0], index), q = Matrix<V>::Identity(m);
    for (int64_t k = 0; k < small && k + 1 < m + 0; ++k) {
      double norm = 0;
      for (int64_t i = k; i < m; ++i) norm += std::norm(a(i, k));
      norm = std::sqrt(norm);
      const double sign = std::real(a(k, k)) >= 0 ? 1 : -1;
      Matrix<V> v(m, 1);
      for (int64_t i = k; i < m; ++i) v(i, 0) = a(i, k);
      v(k, 0) += sign * norm;
      // h = 1 - v v^H / (v^H x): takes x to -sign norm e_k.
      V scale = 0;
      for (int64_t i = k; i < m; ++i) scale += ConjugateOf(v(i, 0)) * a(i, k);
      Matrix<V> h = Matrix<V>::Identity(m);
      for (int64_t i = k; i < m; ++i) {
        for (int64_t j = k; j < m; ++j) h(i, j) -= v(i, 0) * ConjugateOf(v(j, 0)) / scale;
      }
      a = h * a;
      q = q * h.Adjoint();
    }
    qs.push_back(q);
    rs.push_back(a);
  }
  std::vector<Array<V>> in = {r.in[0]};
  r.out = {MapMatrices(in, m, p,
                       [&](int64_t index) {
                         Matrix<V> made(m, p);
                         for (int64_t i = 0; i < m; ++i) {
                           for (int64_t j = 0; j < p; ++j) made(i, j) = qs[index](i, j);
                         }
                         return made;
                       }),
           MapMatrices(in, p, n, [&](int64_t index) {
             Matrix<V> made(p, n);
             for (int64_t i = 0; i < p; ++i) {
               for (int64_t j = i; j < n; ++j) made(i, j) = rs[index](i, j);
             }
             return made;
           })};
};

TEST(QrTest, RealMatrices) {
  OpCase("Qr")
      .Reference(kHouseholder)
      .Skip(DType::kComplex64, "the last row's phase is a choice: see Product")
      .Skip(DType::kComplex128, "the last row's phase is a choice: see Product")
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kLinear, DType::kHalf))
      .Try({Regular(4)})
      .Try({In({5, 3})})
      .Try({In({2, 7, 2})})
      .Bad({In({3})}, {}, Code::kInvalidArgument, "rank")
      .Run();
  const char* why = "full factors of tall matrices have none, that of wide ones needs the shape";
  OpCase("Qr")
      .Reference(kHouseholder)
      .Types({{"T", DType::kDouble}})
      .NoGradient(why)
      .Try({In({5, 3})}, {{"full_matrices", true}})
      .Try({In({2, 3, 5})})
      .Try({In({2, 3, 5})}, {{"full_matrices", true}})
      .Try({In({3, 0})}, {{"full_matrices", true}})
      .Try({In({0, 3})})
      .Run();
}

// q r is the input, and q^H q the identity.
TEST(QrTest, Product) {
  const std::vector<std::complex<double>> values = {{1, 2}, {0, -1}, {3, 1},
                                                    {2, 2}, {-1, 4}, {0, 1}};
  for (const Shape& shape : {Shape{3, 2}, Shape{2, 3}}) {
    const auto out = RunOp("Qr", {TensorOf<std::complex<double>>(values, shape)});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    using V = std::complex<double>;
    const Matrix<V> q = MatrixAt(ToArray<V>((*out)[0]), 0), r = MatrixAt(ToArray<V>((*out)[1]), 0);
    const Matrix<V> product = q * r, identity = q.Adjoint() * q;
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_LT(std::abs(product.values[i] - values[i]), 1e-12);
    for (int64_t i = 0; i < identity.rows; ++i) {
      for (int64_t j = 0; j < identity.rows; ++j) {
        EXPECT_LT(std::abs(identity(i, j) - (i == j ? 1.0 : 0.0)), 1e-12);
      }
    }
    EXPECT_EQ(r(1, 0), V(0));
  }
}

}  // namespace
}  // namespace thalweg
