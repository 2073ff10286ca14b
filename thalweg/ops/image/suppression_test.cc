// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using Values = std::vector<double>;

const std::vector<double> kBoxes = {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                    0, 10, 1, 11, 1, 11.1, 0, 10.1, 0, 100,  1, 101};
const std::vector<double> kScores = {0.9, 0.75, 0.6, 0.95, 0.5, 0.3};

Tensor Floats(const Shape& shape, const std::vector<double>& values) {
  return Tensor::Of<float>(std::vector<float>(values.begin(), values.end()), shape);
}
In Most(int32_t n) { return In(Tensor::Scalar(n)); }
In Limit(double value) { return In({}, {value}); }

// Elements of the outputs of an operation on the boxes above.
std::vector<Values> Select(const char* op, const Values& scores, int32_t most,
                           const std::vector<float>& limits, AttrMap attrs = {}) {
  std::vector<Tensor> inputs = {Floats({6, 4}, kBoxes), Floats({6}, scores), Tensor::Scalar(most)};
  for (float limit : limits) inputs.push_back(Tensor::Scalar(limit));
  const auto out = RunOp(op, inputs, std::move(attrs));
  EXPECT_TRUE(out.ok()) << out.status().ToString();
  std::vector<Values> values;
  if (!out.ok()) return std::vector<Values>(3);
  for (const Tensor& tensor : *out) values.push_back(ToArray<double>(tensor).values);
  return values;
}

// As TensorFlow 2.21 selected them.
TEST(SuppressionTest, Recorded) {
  EXPECT_EQ(Select("NonMaxSuppression", kScores, 3, {})[0], (Values{3, 0, 5}));
  EXPECT_EQ(Select("NonMaxSuppressionV2", kScores, 3, {0.5f})[0], (Values{3, 0, 5}));
  EXPECT_EQ(Select("NonMaxSuppressionV3", kScores, 6, {0.5f, 0.4f})[0], (Values{3, 0}));
  EXPECT_EQ(Select("NonMaxSuppressionV3", Values(6, 0.5), 6, {0.5f, 0.4f})[0], (Values{0, 3, 5}));
  const auto padded =
      Select("NonMaxSuppressionV4", kScores, 5, {0.5f, 0.4f}, {{"pad_to_max_output_size", true}});
  EXPECT_EQ(padded[0], (Values{3, 0, 0, 0, 0}));
  EXPECT_EQ(padded[1], (Values{2}));
  const auto soft = Select("NonMaxSuppressionV5", kScores, 6, {1, 0, 0.5f});
  EXPECT_EQ(soft[0], (Values{3, 0, 1, 5, 4, 2}));
  const Values decayed = {0.95, 0.9, 0.38400355, 0.3, 0.2560026, 0.19697245};
  ASSERT_EQ(soft[1].size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(soft[1][i], decayed[i], 1e-6);
  EXPECT_EQ(soft[2], (Values{6}));
  const auto cut = Select("NonMaxSuppressionV5", kScores, 6, {0.85f, 0.35f, 0.5f},
                          {{"pad_to_max_output_size", true}});
  EXPECT_EQ(cut[0], (Values{3, 0, 1, 0, 0, 0}));
  EXPECT_EQ(cut[2], (Values{3}));
  const auto overlaps =
      RunOp("NonMaxSuppressionWithOverlaps",
            {Floats({3, 3}, {1, 0.6, 0.1, 0.6, 1, 0.2, 0.1, 0.2, 1}), Floats({3}, {0.5, 0.9, 0.4}),
             Tensor::Scalar<int32_t>(3), Tensor::Scalar(0.5f), Tensor::Scalar(0.0f)});
  EXPECT_EQ(ToArray<double>((*overlaps)[0]).values, (Values{1, 2}));
}

TEST(SuppressionTest, RecordedCombined) {
  Values boxes = kBoxes, scores;
  for (int i = 5; i >= 0; --i) {
    boxes.insert(boxes.end(), kBoxes.begin() + 4 * i, kBoxes.begin() + 4 * i + 4);
  }
  for (int i = 0; i < 12; ++i) {
    const double score =
        i < 6 ? kScores[static_cast<size_t>(i)] : kScores[static_cast<size_t>(11 - i)] * 0.9;
    scores.push_back(score);
    scores.push_back(score * 0.8);
  }
  const auto run = [&](bool pad, bool clip) {
    auto out =
        RunOp("CombinedNonMaxSuppression",
              {Floats({2, 6, 1, 4}, boxes), Floats({2, 6, 2}, scores), Tensor::Scalar<int32_t>(2),
               Tensor::Scalar<int32_t>(5), Tensor::Scalar(0.5f), Tensor::Scalar(0.5f)},
              {{"pad_per_class", pad}, {"clip_boxes", clip}});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return std::move(out).value();
  };
  const auto all = run(false, false);
  EXPECT_EQ(all[0].shape(), (Shape{2, 5, 4}));
  const Values box = ToArray<double>(all[0]).values;
  EXPECT_EQ(Values(box.begin(), box.begin() + 8), (Values{0, 10, 1, 11, 0, 0, 1, 1}));
  const Values score = ToArray<double>(all[1]).values;
  const Values want = {0.95, 0.9, 0.76, 0.72, 0, 0.855, 0.81, 0.684, 0.648, 0};
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(score[i], want[i], 1e-6);
  EXPECT_EQ(ToArray<double>(all[2]).values, (Values{0, 0, 1, 1, 0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(ToArray<double>(all[3]).values, (Values{4, 4}));
  const auto padded = run(true, true);
  EXPECT_EQ(padded[0].shape(), (Shape{2, 4, 4}));
  const Values clipped = ToArray<double>(padded[0]).values;
  EXPECT_EQ(Values(clipped.begin(), clipped.begin() + 4), (Values{0, 1, 1, 1}));
}

double Overlap(const Array<double>& boxes, int64_t i, int64_t j) {
  const auto cut = [&](int d) {
    const double a0 = std::min(boxes[4 * i + d], boxes[4 * i + d + 2]);
    const double a1 = std::max(boxes[4 * i + d], boxes[4 * i + d + 2]);
    const double b0 = std::min(boxes[4 * j + d], boxes[4 * j + d + 2]);
    const double b1 = std::max(boxes[4 * j + d], boxes[4 * j + d + 2]);
    return std::vector<double>{std::max(0.0, std::min(a1, b1) - std::max(a0, b0)), a1 - a0,
                               b1 - b0};
  };
  const auto y = cut(0), x = cut(1);
  const double common = y[0] * x[0];
  return common / (y[1] * x[1] + y[2] * x[2] - common);
}

TEST(SuppressionTest, Cases) {
  for (const char* op : {"NonMaxSuppressionV3", "NonMaxSuppressionV4"}) {
    OpCase(op)
        .Reference([](RefCall<double>& r) {
          std::vector<double> kept;
          std::vector<bool> gone(r.in[1].values.size());
          while (static_cast<double>(kept.size()) < r.in[2][0]) {
            int64_t best = -1;
            for (int64_t i = 0; i < r.in[1].size(); ++i) {
              if (gone[static_cast<size_t>(i)] || r.in[1][i] <= r.in[4][0]) continue;
              if (best < 0 || r.in[1][i] > r.in[1][best]) best = i;
            }
            if (best < 0) break;
            kept.push_back(static_cast<double>(best));
            for (int64_t i = 0; i < r.in[1].size(); ++i) {
              const bool near = i == best || Overlap(r.in[0], i, best) > r.in[3][0];
              if (near) gone[static_cast<size_t>(i)] = true;
            }
          }
          const auto count = static_cast<int64_t>(kept.size());
          r.out.resize(1);
          r.out[0].shape = Shape{count};
          r.out[0].values = kept;
          if (r.node->num_outputs() == 1) return;
          r.out.push_back(r.in[2]);
          r.out[1][0] = static_cast<double>(count);
        })
        .ShapesFromValues("as many as stay")
        .Try({In({20, 4}).Range(-1, 1).Distinct(), In({20}).Range(0, 1).Distinct(), Most(7),
              Limit(0.25), Limit(0.125)})
        .Try({In({20, 4}).Range(-1, 1).Distinct(), In({20}).Range(0, 1).Distinct(), Most(100),
              Limit(0.5), Limit(-1)})
        .Bad({In({6, 4}), In({5}), Most(3), Limit(0.5), Limit(0)}, {}, Code::kInvalidArgument,
             "Dimensions must be equal, but are 6 and 5", "scores has incompatible shape")
        .Bad({In({6, 3}), In({6}), Most(3), Limit(0.5), Limit(0)}, {}, Code::kInvalidArgument,
             "Dimension must be 4 but is 3", "boxes must have 4 columns")
        .Bad({In({6}), In({6}), Most(3), Limit(0.5), Limit(0)}, {}, Code::kInvalidArgument,
             "Shape must be rank 2 but is rank 1", "boxes must be 2-D[6]")
        .Bad({In({6, 4}), In({6}), Most(3), Limit(1.5), Limit(0)}, {{"T", DType::kFloat}},
             Code::kInvalidArgument, "[0, 1]")
        .Bad({In({6, 4}), In({6}), Most(-1), Limit(0.5), Limit(0)}, {{"T", DType::kFloat}},
             Code::kInvalidArgument, "negative")
        .Run();
  }
}

// No number is never selected; nothing is selected of nothing.
TEST(SuppressionTest, Nothing) {
  const double nan = std::nan("");
  EXPECT_EQ(Select("NonMaxSuppression", {nan, 0.5, nan, nan, nan, nan}, 3, {})[0], (Values{1}));
  EXPECT_EQ(Select("NonMaxSuppression", kScores, 0, {})[0], Values{});
  const auto none =
      RunOp("NonMaxSuppression", {Floats({0, 4}, {}), Floats({0}, {}), Tensor::Scalar<int32_t>(3)});
  EXPECT_EQ((*none)[0].shape(), Shape{0});
}

}  // namespace
}  // namespace thalweg
