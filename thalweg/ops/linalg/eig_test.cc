// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "thalweg/ops/linalg/test_matrices.h"

namespace thalweg {
namespace {

// The values of a symmetric 2 x 2 matrix (its lower part), in closed form, with the signs that
// TensorFlow has for a(1, 0) > 0 and a(0, 0) < a(1, 1).
constexpr auto kSymmetricTwoByTwo = [](RefCall<double>& r) {
  Array<double> e(ShapeLike(r.in[0], {2})), v(r.in[0].shape);
  for (int64_t i = 0; i < MatrixCount(r.in[0]); ++i) {
    const Matrix<double> a = MatrixAt(r.in[0], i);
    const double mean = (a(0, 0) + a(1, 1)) / 2, half = (a(0, 0) - a(1, 1)) / 2, b = a(1, 0);
    const double root = std::hypot(half, b);
    e[2 * i] = mean - root;
    e[2 * i + 1] = mean + root;
    const double angle = std::atan2(b, half) / 2;  // of the larger one's vector
    const double c = std::cos(angle), s = std::sin(angle);
    v[4 * i] = -s;
    v[4 * i + 2] = c;
    v[4 * i + 1] = -c;
    v[4 * i + 3] = -s;
  }
  r.out = {e, v};
  if (!r.Attr<bool>("compute_v")) r.out[1] = Array<double>(Shape{0});
};

TEST(SelfAdjointEigTest, TwoByTwo) {
  const In a({3, 2, 2}, {1, 9, 2, 7, -1, 0, 0.5, 3, 0, 5, 3, 4});
  for (const char* op : {"SelfAdjointEigV2", "BatchSelfAdjointEigV2"}) {
    OpCase(op)
        .Reference(kSymmetricTwoByTwo)
        // Rounding may turn a vector of another type: see Vectors.
        .Types({{"T", DType::kDouble}})
        .Try({a})
        .Try({a}, {{"compute_v", false}})
        .Bad({In({2, 3})}, {}, Code::kInvalidArgument, "square")
        .Run();
  }
}

// a v = v diag(e)
template <class T>
void ExpectVectors(const char* op, const Shape& shape, AttrMap attrs, bool self_adjoint) {
  using V = std::complex<double>;
  const int64_t n = shape.dim(shape.rank() - 1);
  std::vector<T> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const double x = std::sin(1.0 + 3.0 * static_cast<double>(i * i % 19));
    if constexpr (std::is_floating_point_v<T>) {
      values.push_back(static_cast<T>(x));
    } else {
      values.push_back(T(static_cast<typename T::value_type>(x),
                         static_cast<typename T::value_type>(x * x - 0.5)));
    }
  }
  const Tensor input = TensorOf<T>(values, shape);
  const auto out = RunOp(op, {input}, std::move(attrs));
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const bool single = std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>>;
  const double tolerance = single ? 2e-5 : 1e-12;
  const Array<V> all = ToArray<V>(input), e = ToArray<V>((*out)[0]);
  for (int64_t index = 0; index < MatrixCount(all); ++index) {
    Matrix<V> a = MatrixAt(all, index);
    for (int64_t i = 0; self_adjoint && i < n; ++i) {
      a(i, i) = a(i, i).real();
      for (int64_t j = i + 1; j < n; ++j) a(i, j) = std::conj(a(j, i));
    }
    const Matrix<V> v = MatrixAt(ToArray<V>((*out)[1]), index), av = a * v;
    for (int64_t j = 0; j < n; ++j) {
      double length = 0;
      for (int64_t i = 0; i < n; ++i) {
        length += std::norm(v(i, j));
        EXPECT_LT(std::abs(av(i, j) - v(i, j) * e[index * n + j]), tolerance);
      }
      EXPECT_NEAR(length, 1, tolerance);
    }
  }
}

TEST(EigTest, Vectors) {
  const AttrMap single = {{"Tout", DType::kComplex64}}, both = {{"Tout", DType::kComplex128}};
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 5}, Shape{2, 3, 3}}) {
    ExpectVectors<float>("Eig", shape, single, false);
    ExpectVectors<double>("Eig", shape, both, false);
    ExpectVectors<std::complex<float>>("Eig", shape, single, false);
    ExpectVectors<std::complex<double>>("Eig", shape, both, false);
    ExpectVectors<float>("SelfAdjointEigV2", shape, {}, true);
    ExpectVectors<double>("SelfAdjointEigV2", shape, {}, true);
    ExpectVectors<std::complex<float>>("SelfAdjointEigV2", shape, {}, true);
    ExpectVectors<std::complex<double>>("SelfAdjointEigV2", shape, {}, true);
  }
}

TEST(EigTest, RefusesWhatHasNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor bad = TensorOf<double>({nan, nan, nan, nan}, Shape{2, 2});
  const auto general = RunOp("Eig", {bad}, {{"Tout", DType::kComplex128}});
  EXPECT_EQ(general.status().code(), Code::kInvalidArgument);
  EXPECT_NE(general.status().message().find("Eigen decomposition was not successful"),
            std::string::npos);
  const auto adjoint = RunOp("SelfAdjointEigV2", {bad});
  EXPECT_EQ(adjoint.status().code(), Code::kInvalidArgument);
  EXPECT_NE(adjoint.status().message().find("Self-adjoint eigen decomposition"), std::string::npos);
  const Tensor empty = *Tensor::AllocateHost(DType::kDouble, Shape{2, 0, 0});
  EXPECT_TRUE(RunOp("Eig", {empty}, {{"Tout", DType::kComplex128}}).ok());
}

TEST(SelfAdjointEigTest, OldForm) {
  for (const char* op : {"SelfAdjointEig", "BatchSelfAdjointEig"}) {
    const auto out = RunOp(op, {TensorOf<double>({1, 5, 2, 7}, Shape{2, 2})});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    ASSERT_EQ((*out)[0].shape(), (Shape{3, 2}));
    const double expected[] = {0.3944487245360107,   7.60555127546399,    -0.9570920264890529,
                               -0.28978414868843005, 0.28978414868843005, -0.9570920264890529};
    for (int i = 0; i < 6; ++i) EXPECT_NEAR((*out)[0].data<double>()[i], expected[i], 1e-13);
  }
}

// As TensorFlow 1.15 and 2.21 have it, though elsewhere denormal numbers count as zero.
TEST(EigTest, DenormalEntries) {
  const float x = 1e-40F, y = 2e-40F;
  const auto made =
      RunOp("SelfAdjointEigV2", {Tensor::Of<float>(std::vector<float>{x, y, y, x}, Shape{2, 2})});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const float *e = (*made)[0].data<float>(), *v = (*made)[1].data<float>();
  EXPECT_EQ(std::signbit(e[0]), true);
  EXPECT_NE(std::bit_cast<uint32_t>(e[0]) & 0x7fffffffU, 0U);
  EXPECT_NE(std::bit_cast<uint32_t>(e[1]), 0U);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(std::abs(v[i]), std::sqrt(0.5F), 1e-6);
  EXPECT_LT(v[0] * v[2], 0);
  EXPECT_GT(v[1] * v[3], 0);
}

}  // namespace
}  // namespace thalweg
