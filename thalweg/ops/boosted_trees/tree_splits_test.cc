// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

struct Stats {
  double gradient = 0, hessian = 0;
  Stats operator+(const Stats& o) const { return {gradient + o.gradient, hessian + o.hessian}; }
  Stats operator-(const Stats& o) const { return {gradient - o.gradient, hessian - o.hessian}; }
};

struct Terms {
  double l1, l2, complexity, min_weight;
  double Weight(const Stats& s) const {
    const double g = std::abs(s.gradient) <= l1 ? 0 : s.gradient - std::copysign(l1, s.gradient);
    return s.hessian + l2 <= 1e-12 ? 0 : -g / (s.hessian + l2);
  }
  double Gain(const Stats& s) const {
    const double w = Weight(s);
    return w * w * (s.hessian + l2);
  }
};

struct Best {
  double gain = -1e30, left = 0, right = 0, bucket = 0, dimension = 0;
  void Try(const Terms& t, const Stats& l, const Stats& r, int64_t d, int64_t b) {
    const double g = t.Gain(l) + t.Gain(r);
    if (g <= gain + 1e-9) return;
    *this = {g, t.Weight(l), t.Weight(r), static_cast<double>(b), static_cast<double>(d)};
  }
};

Terms TermsOf(const RefCall<double>& r, size_t first) {
  return {r.in[first][0], r.in[first + 1][0], r.in[first + 2][0], r.in[first + 3][0]};
}

// Of one feature: the best split of each node of the range into buckets below and above.
void BestGains(RefCall<double>& r) {
  const Terms t = TermsOf(r, 2);
  const int64_t buckets = r.in[1].shape.dim(1);
  std::vector<double> found[5];
  for (auto node = static_cast<int64_t>(r.in[0][0]); node < r.in[0][1]; ++node) {
    const auto at = [&](int64_t b) {
      const int64_t i = (node * buckets + b) * 2;
      return Stats{r.in[1][i], r.in[1][i + 1]};
    };
    Stats total, left;
    for (int64_t b = 0; b < buckets; ++b) total = total + at(b);
    if (total.hessian < t.min_weight) continue;
    Best best;
    for (int64_t b = 0; b < buckets; ++b) {
      left = left + at(b);
      best.Try(t, left, total - left, 0, b);
    }
    found[0].push_back(static_cast<double>(node));
    found[1].push_back(best.gain - t.Gain(total) - t.complexity);
    found[2].push_back(best.bucket);
    found[3].push_back(best.left);
    found[4].push_back(best.right);
  }
  const auto n = static_cast<int64_t>(found[0].size());
  for (int i = 0; i < 5; ++i) {
    r.out.push_back(Array<double>(i < 3 ? Shape{n} : Shape{n, 1}, found[i]));
  }
}

In Sum(double value) { return In({}, {value}); }

const std::vector<double> kSums = {1,  2, -3, 1, 2, 1,   -2, 3, 4, 1, 1, 0.5,
                                   -1, 2, -1, 1, 5, 0.5, 0,  1, 1, 1, 2, 3};

TEST(TreeSplitsTest, BestGainsPerFeature) {
  const AttrMap attrs = {{"max_splits", int64_t{4}}};
  OpCase("BoostedTreesCalculateBestGainsPerFeature")
      .Reference(BestGains)
      .ShapesFromValues("how many nodes can be split is not known before")
      .Try({In({2}, {0, 4}), In({4, 3, 2}, kSums), Sum(0), Sum(0.5), Sum(0.25), Sum(0)}, attrs)
      .Try({In({2}, {1, 3}), In({4, 3, 2}, kSums), Sum(0.75), Sum(0), Sum(0), Sum(3.75)}, attrs)
      .Try({In({2}, {2, 1}), In({4, 3, 2}, kSums), Sum(0), Sum(0), Sum(0), Sum(0)}, attrs)
      .Bad({In({2}, {0, 5}), In({4, 3, 2}, kSums), Sum(0), Sum(0), Sum(0), Sum(0)}, attrs,
           Code::kInvalidArgument, "", "node_id_range [0,5) is not of the nodes [0,4)")
      .Bad({In({2}, {-1, 2}), In({4, 3, 2}, kSums), Sum(0), Sum(0), Sum(0), Sum(0)}, attrs,
           Code::kInvalidArgument, "", "node_id_range [-1,2)")
      .Bad({In({2}, {-2147483648.0, 1}), In({4, 3, 2}, kSums), Sum(0), Sum(0), Sum(0), Sum(0)},
           attrs, Code::kInvalidArgument, "", "node_id_range [-2147483648,1)")
      .Run();
}

// One feature whose last bucket is of missing values, that go with either side.
TEST(TreeSplitsTest, BestFeatureSplitOfBuckets) {
  // Gradients 1, -3, 2 with hessians 2, 1, 1; nothing is missing. As TensorFlow 1.15 gave.
  const Tensor sums = Numbers<float>({1, 2, -3, 1, 2, 1, 0, 0}, Shape{1, 1, 4, 2});
  const Tensor zero = Tensor::Scalar(0.0F), range = Numbers<int32_t>({0, 1});
  const auto expect = [&](const Tensor& stats, const char* split, int32_t bucket, float gain,
                          float left, float right, const char* type) {
    ExpectOutputs("BoostedTreesCalculateBestFeatureSplit", {range, stats, zero, zero, zero, zero},
                  {{"logits_dimension", int64_t{1}}, {"split_type", split}},
                  {Numbers<int32_t>({0}), Numbers<float>({gain}), Numbers<int32_t>({0}),
                   Numbers<int32_t>({bucket}), Numbers<float>({left}, Shape{1, 1}),
                   Numbers<float>({right}, Shape{1, 1}), Texts({type})});
  };
  expect(sums, "inequality", 1, 16.0F / 3, 2.0F / 3, -2, "INEQUALITY_DEFAULT_LEFT");
  expect(sums, "equality", 1, 12, 3, -1, "EQUALITY_DEFAULT_RIGHT");
  const Tensor missing = Numbers<float>({2, 1, -2, 1, -2, 1, 2, 1}, Shape{1, 1, 4, 2});
  expect(missing, "inequality", 0, 16, -2, 2, "INEQUALITY_DEFAULT_LEFT");
}

TEST(TreeSplitsTest, TheBestOfSeveralFeaturesHasItsNumber) {
  const Tensor weak = Numbers<float>({1, 1, 1, 1, 0, 0}, Shape{1, 1, 3, 2});
  const Tensor strong = Numbers<float>({3, 1, -1, 1, 0, 0}, Shape{1, 1, 3, 2});
  const Tensor zero = Tensor::Scalar(0.0F);
  const AttrMap attrs = {{"logits_dimension", int64_t{1}}, {"num_features", int64_t{2}}};
  const auto inputs = [&](const Tensor& types) {
    return std::vector<Tensor>{Numbers<int32_t>({0, 1}),
                               weak,
                               strong,
                               types,
                               Numbers<int32_t>({7, 9}),
                               zero,
                               zero,
                               zero,
                               zero};
  };
  ExpectOutputs("BoostedTreesCalculateBestFeatureSplitV2",
                inputs(Texts({"inequality", "equality"})), attrs,
                {Numbers<int32_t>({0}), Numbers<float>({8}), Numbers<int32_t>({9}),
                 Numbers<int32_t>({0}), Numbers<int32_t>({0}), Numbers<float>({-3}, Shape{1, 1}),
                 Numbers<float>({1}, Shape{1, 1}), Texts({"EQUALITY_DEFAULT_RIGHT"})});
  ExpectError("BoostedTreesCalculateBestFeatureSplitV2", inputs(Texts({"inequality", "other"})),
              attrs, Code::kInvalidArgument, "a split is 'inequality' or 'equality'");
}

// Several logits: each with a hessian of its own, or all with a matrix.
TEST(TreeSplitsTest, SeveralLogitsShareAMatrixOfHessians) {
  const Tensor zero = Tensor::Scalar(0.0F);
  const auto weights = [&](const std::vector<float>& sums, int64_t columns) {
    std::vector<float> both = sums;
    both.resize(static_cast<size_t>(columns) * 2);
    for (const float s : std::vector<float>(both)) both.push_back(2 * s);
    both.resize(static_cast<size_t>(columns) * 3);
    const auto out = RunOp("BoostedTreesCalculateBestFeatureSplit",
                           {Numbers<int32_t>({0, 1}), Numbers<float>(both, Shape{1, 1, 3, columns}),
                            zero, zero, zero, zero},
                           {{"logits_dimension", int64_t{2}}});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    const float* const left = (*out)[4].data<float>();
    return std::vector<float>(left, left + 2);
  };
  EXPECT_EQ(weights({1, 2, 4, 8}, 4), std::vector<float>({-0.25F, -0.25F}));
  // [2 1; 1 2] x = -[1 2]
  const std::vector<float> x = weights({1, 2, 2, 1, 1, 2}, 6);
  EXPECT_NEAR(x[0], 0, 1e-6);
  EXPECT_NEAR(x[1], -1, 1e-6);
  ExpectError("BoostedTreesCalculateBestFeatureSplit",
              {Numbers<int32_t>({0, 1}), Numbers<float>({1, 2, 3}, Shape{1, 1, 1, 3}), zero, zero,
               zero, zero},
              {{"logits_dimension", int64_t{2}}}, Code::kInvalidArgument,
              "a summary of 2 logits must have 4 sums");
}

TEST(TreeSplitsTest, NoNodeHasNoSplitHoweverManyLogits) {
  constexpr int64_t kLogits = int64_t{1} << 40;
  const Tensor zero = Tensor::Scalar(0.0F);
  const auto out = RunOp("BoostedTreesCalculateBestFeatureSplit",
                         {Numbers<int32_t>({0, 0}), Numbers<float>({}, Shape{0, 1, 1, 2 * kLogits}),
                          zero, zero, zero, zero},
                         {{"logits_dimension", kLogits}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[4].shape(), (Shape{0, kLogits}));
}

// As TensorFlow 1.15 gave.
TEST(TreeSplitsTest, SparseSummariesSplitByWhatIsThere) {
  const Tensor zero = Tensor::Scalar(0.0F);
  const Tensor indices = Numbers<int32_t>(
      {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 3, 0, 0, 0, 3, 1}, Shape{6, 4});
  const Tensor values = Numbers<float>({1, .1F, 3, .3F, -1, .5F});
  const auto inputs = [&](const Tensor& i, const Tensor& shape) {
    return std::vector<Tensor>{Numbers<int32_t>({0, 3}), i, values, shape, zero, zero, zero, zero};
  };
  const Tensor shape = Numbers<int32_t>({3, 2, 4, 2});
  const AttrMap attrs = {{"logits_dimension", int64_t{1}}};
  constexpr const char* kOp = "BoostedTreesSparseCalculateBestFeatureSplit";
  const auto out = RunOp(kOp, inputs(indices, shape), attrs);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].ToString(), Numbers<int32_t>({0}).ToString());
  EXPECT_NEAR((*out)[1].data<float>()[0], 32, 1e-4);
  EXPECT_EQ((*out)[3].data<int32_t>()[0], 1);
  EXPECT_NEAR((*out)[4].data<float>()[0], -10, 1e-5);
  EXPECT_EQ((*out)[6].data<std::string>()[0], "INEQUALITY_DEFAULT_RIGHT");
  Tensor reversed = Numbers<int32_t>(
      {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 3, 0, 0, 0, 3, 1}, Shape{6, 4});
  ExpectError(kOp, inputs(reversed, shape), attrs, Code::kInvalidArgument, "out of order");
  ExpectError(kOp, inputs(indices, Numbers<int32_t>({3, 2, 3, 2})), attrs, Code::kInvalidArgument,
              "stats_summary_indices[4,2] = 3 is not in [0, 3)");
  ExpectError(kOp, inputs(indices, shape), {{"logits_dimension", int64_t{2}}},
              Code::kInvalidArgument, "of one logit");
}

}  // namespace
}  // namespace thalweg
