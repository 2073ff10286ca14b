// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// f(flat element, its channel's first and last neighbor in flat elements).
template <class F>
void ForNeighbors(const RefCall<double>& r, const Shape& shape, F f) {
  const int64_t channels = shape.dim(3), radius = r.Attr<int64_t>("depth_radius");
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int64_t c = i % channels;
    f(i, i - std::min(c, radius), i + std::min(channels - 1 - c, radius));
  }
}

Array<double> Norm(const RefCall<double>& r, const Array<double>& x) {
  Array<double> norm(x.shape);
  ForNeighbors(r, x.shape, [&](int64_t i, int64_t first, int64_t last) {
    double sum = 0;
    for (int64_t k = first; k <= last; ++k) sum += x[k] * x[k];
    norm[i] = r.Attr<float>("bias") + r.Attr<float>("alpha") * sum;
  });
  return norm;
}

AttrMap Attrs(int64_t radius, float bias, float alpha, float beta) {
  return {{"depth_radius", radius}, {"bias", bias}, {"alpha", alpha}, {"beta", beta}};
}

TEST(LrnTest, Forward) {
  OpCase("LRN")
      .Reference([](RefCall<double>& r) {
        const Array<double> norm = Norm(r, r.in[0]);
        r.out = {Array<double>(r.in[0].shape)};
        for (int64_t i = 0; i < norm.size(); ++i) {
          r.out[0][i] = r.in[0][i] * std::pow(norm[i], -double{r.Attr<float>("beta")});
        }
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
      .NoGradient("kernels are of float and half; LRNGrad has its own case")
      .Try({In({2, 3, 2, 7})}, Attrs(2, 1.5f, 0.5f, 0.75f))
      .Try({In({1, 2, 3, 40})}, Attrs(5, 1, 1, 0.5f))
      .Try({In({1, 2, 3, 5})}, Attrs(100, 2, 0.1f, 1))
      .Try({In({2, 0, 2, 7})}, Attrs(2, 1, 1, 0.5f))
      .Bad({In({2, 3, 2})}, Attrs(2, 1, 1, 0.5f), Code::kInvalidArgument,
           "Shape must be rank 4 but is rank 3 for ", "in must be 4-dimensional")
      .Bad({In({1, 1, 1, 3})}, Attrs(-1, 1, 1, 0.5f), Code::kInvalidArgument, "depth_radius")
      .Run();
}

// dx[j] = dy[j] / n[j]^beta - 2 alpha beta x[j] * sum of dy[k] y[k] / n[k]; y is an input.
TEST(LrnTest, Gradient) {
  OpCase("LRNGrad")
      .Reference([](RefCall<double>& r) {
        const Array<double>&dy = r.in[0], &x = r.in[1], &y = r.in[2];
        const Array<double> norm = Norm(r, x);
        const double alpha = r.Attr<float>("alpha"), beta = r.Attr<float>("beta");
        r.out = {Array<double>(x.shape)};
        ForNeighbors(r, x.shape, [&](int64_t i, int64_t first, int64_t last) {
          double sum = 0;
          for (int64_t k = first; k <= last; ++k) sum += dy[k] * y[k] / norm[k];
          r.out[0][i] = dy[i] * std::pow(norm[i], -beta) - 2 * alpha * beta * x[i] * sum;
        });
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBatchNorm, DType::kHalf))
      .Try({In({2, 3, 2, 7}), In({2, 3, 2, 7}), In({2, 3, 2, 7})}, Attrs(2, 1.5f, 0.5f, 0.75f))
      .Try({In({1, 1, 3, 9}), In({1, 1, 3, 9}), In({1, 1, 3, 9})}, Attrs(5, 1, 1, 0.5f))
      .Bad({In({1, 1, 1, 3}), In({1, 1, 1, 3}), In({1, 1, 1, 4})}, Attrs(1, 1, 1, 0.5f),
           Code::kInvalidArgument, "")
      .Run();
  // The whole against TensorFlow 2.21.
  const float x[] = {1.76405239f, 0.400157213f, 0.978738010f, 2.24089313f, 1.86755800f};
  const float dy[] = {1, 1, 1, 1, 1};
  const float expected[] = {0.0526714f, 0.27656075f, 0.17176262f, -0.16162919f, 0.01917127f};
  const Shape shape{1, 1, 1, 5};
  const Tensor image = Tensor::Of<float>(x, shape);
  const AttrMap attrs = Attrs(1, 1.5f, 0.5f, 0.75f);
  const Tensor y = (*RunOp("LRN", {image}, attrs))[0];
  const Tensor dx = (*RunOp("LRNGrad", {Tensor::Of<float>(dy, shape), image, y}, attrs))[0];
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(dx.data<float>()[i], expected[i], 1e-6);
}

}  // namespace
}  // namespace thalweg
