// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "thalweg/compute/random/distributions.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/random/test_recorded.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/op_case.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const float kAlphas[] = {0.5f, 1, 4.5f};

TEST(DistributionTest, GammaHasTheRecordedBits) {
  TestMachine machine(compute::BestIsaLevel(), /*backwards=*/true);
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Output node =
      b.Op("RandomGamma",
           {b.Const(std::vector<int32_t>{6}), b.Const(Tensor::Of<float>(kAlphas, Shape{3}))},
           {{"seed", 1}, {"seed2", 0}});
  GraphRunner runner(*AllRegistries().kernels, machine);
  const Result<std::vector<Tensor>> first = runner.Run({}, {node}), second = runner.Run({}, {node});
  ASSERT_TRUE(first.ok() && second.ok()) << first.status().ToString();
  ASSERT_EQ((*first)[0].shape(), (Shape{6, 3}));
  const float start[] = {0.5702692866325378f, 0.11291547864675522f, 5.134859085083008f,
                         0.024976946413517f,  1.1742993593215942f,  2.6243417263031006f};
  const float again[] = {0.22897523641586304f, 1.0278429985046387f, 4.23996114730835f};
  for (int i = 0; i < 6; ++i) EXPECT_EQ((*first)[0].data<float>()[i], start[i]);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*second)[0].data<float>()[i], again[i]);
}

TEST(DistributionTest, StatelessOnesHaveTheRecordedBits) {
  const Tensor seed = VectorOf<int64_t>({1, 2}), shape = VectorOf<int32_t>({2, 3});
  const Tensor alpha = Tensor::Of<float>(kAlphas, Shape{3});
  const std::vector<float> gammas = {0.0669536143541336f, 2.248735189437866f,  5.072640419006348f,
                                     0.6282354593276978f, 1.8935091495513916f, 3.891742467880249f};
  EXPECT_EQ(DrawnBy<float>("StatelessRandomGammaV2", {shape, seed, alpha}), gammas);
  const std::vector<Tensor> keyed = {shape, VectorOf<uint64_t>({10413732777507651514u}),
                                     VectorOf<uint64_t>({0, 17830669156045600267u}),
                                     Tensor::Scalar(1), alpha};
  EXPECT_EQ(DrawnBy<float>("StatelessRandomGammaV3", keyed), gammas);
  EXPECT_EQ(DrawnBy<int32_t>("StatelessRandomPoisson",
                             {VectorOf<int32_t>({2, 2}), seed, VectorOf<float>({0.5f, 40})},
                             {{"dtype", DType::kInt32}}),
            (std::vector<int32_t>{3, 49, 2, 57}));
  // The binomial numbers are those with ten expected successes or more.
  EXPECT_EQ(DrawnBy<int32_t>("StatelessRandomBinomial",
                             {VectorOf<int32_t>({4, 2}), seed, VectorOf<double>({10, 100}),
                              VectorOf<double>({0.3, 0.6})},
                             {{"dtype", DType::kInt32}})[7],
            61);
}

TEST(DistributionTest, PoissonHasTheRecordedMoments) {
  for (double rate : {0.5, 3.0, 40.0}) {
    const std::vector<double> drawn =
        DrawnBy<double>("RandomPoissonV2", {VectorOf<int32_t>({20000}), Tensor::Scalar(rate)},
                        {{"seed", 1}, {"seed2", 2}, {"dtype", DType::kDouble}});
    double mean = 0, square = 0;
    for (double x : drawn) {
      mean += x / 20000;
      square += x * x / 20000;
    }
    EXPECT_NEAR(mean, rate, 5 * std::sqrt(rate / 20000));
    EXPECT_NEAR(square - mean * mean, rate, 0.05 * rate);
  }
}

TEST(DistributionTest, BinomialHasItsMoments) {
  for (double p : {0.0, 0.01, 0.3, 0.8, 1.0}) {
    for (double count : {0.0, 7.0, 1000.0}) {
      const std::vector<double> drawn =
          DrawnBy<double>("StatelessRandomBinomial",
                          {VectorOf<int32_t>({20000}), VectorOf<int64_t>({5, 6}),
                           Tensor::Scalar(count), Tensor::Scalar(p)},
                          {{"dtype", DType::kDouble}});
      double mean = 0, square = 0;
      for (double x : drawn) {
        mean += x / 20000;
        square += x * x / 20000;
      }
      const double variance = count * p * (1 - p);
      EXPECT_NEAR(mean, count * p, 5 * std::sqrt(variance / 20000) + 1e-9 * count);
      EXPECT_NEAR(square - mean * mean, variance, 0.06 * variance + 1e-6);
    }
  }
}

// Values of TensorFlow 2.21.
TEST(DistributionTest, DerivativesOfGammaSamples) {
  const std::vector<double> got =
      DrawnBy<double>("RandomGammaGrad", {VectorOf<double>({0.5, 1, 4.5, 20, 0.01, 100}),
                                          VectorOf<double>({0.3, 1, 4, 19, 0.001, 90})});
  const double expected[] = {1.0098019459488548, 1.1735630272247275, 0.9777671720163745,
                             0.9827316703854214, 0.6354138007185822, 0.9498259498011444};
  ASSERT_EQ(got.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[i], expected[i], 1e-9) << i;
}

// Of P(alpha, x(alpha)) = constant, by differences of the probability's own series.
TEST(DistributionTest, DerivativeKeepsTheProbability) {
  const auto lower = [](double alpha, double x) {
    double term = 1 / alpha, sum = term;
    for (int n = 1; n < 2000; ++n) sum += term *= x / (alpha + n);
    return sum * std::exp(alpha * std::log(x) - x - std::lgamma(alpha));
  };
  for (double alpha : {0.2, 1.5, 8.0}) {
    for (double ratio : {0.05, 0.7, 1.0, 2.5}) {
      const double x = alpha * ratio, step = 1e-5;
      const double density = std::exp((alpha - 1) * std::log(x) - x - std::lgamma(alpha));
      const double slope = (lower(alpha + step, x) - lower(alpha - step, x)) / (2 * step);
      EXPECT_NEAR(compute::GammaSampleDerivative(alpha, x), -slope / density,
                  1e-6 * (1 + std::abs(slope / density)))
          << alpha << ", " << x;
    }
  }
}

TEST(DistributionTest, RefusesBadArguments) {
  const Tensor two = VectorOf<int32_t>({2, 2}), seed = VectorOf<int64_t>({1, 2});
  const Tensor three = VectorOf<float>({1, 2, 3});
  EXPECT_EQ(CodeOf("RandomGamma", {VectorOf<int32_t>({-1}), three}), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("StatelessRandomGammaV2", {two, seed, three}), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("StatelessRandomPoisson", {two, seed, three}, {{"dtype", DType::kInt32}}),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("StatelessRandomBinomial", {two, seed, three, VectorOf<float>({1, 2})},
                   {{"dtype", DType::kInt32}}),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("RandomGamma", {VectorOf<int64_t>({INT64_MAX / 2}), three}),
            Code::kInvalidArgument);
  const Tensor scalar = Tensor::Scalar<int64_t>(1), ends = VectorOf<float>({1, 2});
  for (const auto& [op, parameters] : {std::pair{"StatelessRandomGammaV2", 1},
                                       {"StatelessRandomPoisson", 1},
                                       {"StatelessRandomBinomial", 2}}) {
    std::vector<Tensor> inputs = {two, scalar};
    inputs.insert(inputs.end(), static_cast<size_t>(parameters), ends);
    const bool typed = std::string_view(op) == "StatelessRandomPoisson";
    ExpectError(op, inputs, typed ? AttrMap{{"dtype", DType::kInt32}} : AttrMap{},
                Code::kInvalidArgument, "Shape must be rank 1 but is rank 0 for ");
  }
  const Tensor key = VectorOf<uint64_t>({1}), counter = VectorOf<uint64_t>({1, 2});
  const Tensor bad = Tensor::Scalar<uint64_t>(1), philox = Tensor::Scalar(1);
  ExpectError("StatelessRandomGammaV3", {two, bad, counter, philox, ends}, {},
              Code::kInvalidArgument, "Shape must be rank 1 but is rank 0 for ");
  ExpectError("StatelessRandomGammaV3", {two, key, bad, philox, ends}, {}, Code::kInvalidArgument,
              "Shape must be rank 1 but is rank 0 for ");
  ExpectError("StatelessRandomGammaV3", {two, key, counter, VectorOf<int32_t>({1}), ends}, {},
              Code::kInvalidArgument, "Shape must be rank 0 but is rank 1 for ");
}

TEST(DistributionTest, BadParametersGiveNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (float bad : {-1.0f, 0.0f, nan, inf}) {
    EXPECT_TRUE(std::isnan(
        DrawnBy<float>("RandomGamma", {VectorOf<int32_t>({1}), Tensor::Scalar(bad)})[0]));
  }
  for (float bad : {-1.0f, nan, inf}) {
    EXPECT_TRUE(
        std::isnan(DrawnBy<float>("RandomPoissonV2", {VectorOf<int32_t>({1}), Tensor::Scalar(bad)},
                                  {{"dtype", DType::kFloat}})[0]));
  }
}

}  // namespace
}  // namespace thalweg
