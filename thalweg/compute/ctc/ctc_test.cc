// SPDX-License-Identifier: Apache-2.0
// The loss against all paths, one by one; labels that no path gives; a search that looks at
// everything.
#include "thalweg/compute/ctc/ctc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kCtcSteps = 5, kCtcClasses = 3;  // the last is the blank

std::vector<int64_t> LabelsOf(int64_t path) {
  std::vector<int64_t> labels;
  int64_t before = kCtcClasses - 1;
  for (int64_t t = 0; t < kCtcSteps; ++t, path /= kCtcClasses) {
    const int64_t now = path % kCtcClasses;
    if (now != before && now != kCtcClasses - 1) labels.push_back(now);
    before = now;
  }
  return labels;
}

// The probability of each sequence of labels, from every path.
std::map<std::vector<int64_t>, double> AllSequences(const std::vector<double>& logits) {
  std::map<std::vector<int64_t>, double> found;
  const auto paths = static_cast<int64_t>(std::pow(kCtcClasses, kCtcSteps));
  for (int64_t path = 0; path < paths; ++path) {
    double probability = 1;
    int64_t rest = path;
    for (int64_t t = 0; t < kCtcSteps; ++t, rest /= kCtcClasses) {
      const double* row = &logits[t * kCtcClasses];
      double sum = 0;
      for (int64_t c = 0; c < kCtcClasses; ++c) sum += std::exp(row[c]);
      probability *= std::exp(row[rest % kCtcClasses]) / sum;
    }
    found[LabelsOf(path)] += probability;
  }
  return found;
}

TEST(CtcLossTest, IsTheSumOfAllPaths) {
  const std::vector<double> logits = RandomValues<double>(kCtcSteps * kCtcClasses, -2, 2);
  const CtcLogits<double> rows{logits.data(), kCtcSteps, kCtcClasses, kCtcClasses};
  std::vector<double> gradient(logits.size());
  TestWork work;
  for (const auto& [labels, probability] : AllSequences(logits)) {
    const std::vector<int32_t> narrow(labels.begin(), labels.end());
    const auto loss = CtcLoss(work, rows, narrow, true, gradient.data());
    ASSERT_TRUE(loss.ok());
    EXPECT_NEAR(*loss, -std::log(probability), 1e-12) << labels.size() << " labels";
  }
}

// Three equal labels need two blanks between.
TEST(CtcLossTest, NoPathIsInfiniteWithoutGradient) {
  const std::vector<float> logits(4 * kCtcClasses);
  const CtcLogits<float> rows{logits.data(), 4, kCtcClasses, kCtcClasses};
  std::vector<float> gradient(logits.size(), NAN);
  TestWork work;
  const auto loss = CtcLoss(work, rows, {0, 0, 0}, true, gradient.data());
  ASSERT_TRUE(loss.ok());
  EXPECT_EQ(*loss, INFINITY);
  for (const float x : gradient) EXPECT_EQ(x, 0);
}

TEST(CtcLossTest, LogitsThatExpCannotHold) {
  const std::vector<float> logits{1000, -1000, 0, 1000, -1000, 0};
  const CtcLogits<float> rows{logits.data(), 2, kCtcClasses, kCtcClasses};
  std::vector<float> gradient(logits.size());
  TestWork work;
  const auto likely = CtcLoss(work, rows, {0}, true, gradient.data());
  ASSERT_TRUE(likely.ok());
  EXPECT_NEAR(*likely, 0, 1e-6);
  for (const float x : gradient) EXPECT_NEAR(x, 0, 1e-6);
}

TEST(CtcSearchTest, AWideBeamFindsTheBestOfAll) {
  const std::vector<double> logits = RandomValues<double>(kCtcSteps * kCtcClasses, -2, 2, 9);
  const CtcLogits<double> rows{logits.data(), kCtcSteps, kCtcClasses, kCtcClasses};
  const auto all = AllSequences(logits);
  TestWork work;
  const auto found = CtcBeamSearch(work, rows, 1000, 1000, false);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), all.size());
  double before = 0;
  for (const CtcPath& path : *found) {
    EXPECT_NEAR(path.log_probability, std::log(all.at(path.labels)), 1e-9);
    EXPECT_LE(path.log_probability, before);
    before = path.log_probability;
  }
}

}  // namespace
}  // namespace thalweg::compute
