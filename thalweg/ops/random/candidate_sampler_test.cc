// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/random/test_recorded.h"
#include "thalweg/testing/graph_runner.h"

namespace thalweg {
namespace {

using Candidates = std::vector<int64_t>;

AttrMap Attrs(int64_t samples, bool unique, AttrMap more = {}) {
  AttrMap attrs = {
      {"num_true", 2}, {"num_sampled", samples}, {"unique", unique}, {"seed", 1}, {"seed2", 2}};
  for (const auto& [name, value] : more) attrs.Set(name, value);
  return attrs;
}

Tensor TrueClasses() {
  const int64_t classes[] = {3, 5, 1, 0};
  return Tensor::Of<int64_t>(classes, Shape{2, 2});
}

// Three steps of one node: candidates, expected counts of the true classes.
struct Steps {
  std::vector<Candidates> candidates;
  std::vector<std::vector<float>> of_true, of_sampled;
};

Steps ThreeSteps(const char* op, AttrMap attrs) {
  Steps steps;
  TestMachine machine(compute::BestIsaLevel(), false);
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  Node* node = b.OpNode(op, {b.Const(TrueClasses())}, std::move(attrs));
  EXPECT_TRUE(b.ok()) << b.status().ToString();
  GraphRunner runner(*AllRegistries().kernels, machine);
  for (int i = 0; i < 3; ++i) {
    const auto out = runner.Run({}, {{node, 0}, {node, 1}, {node, 2}});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    if (!out.ok()) break;
    steps.candidates.push_back(ValuesOf<int64_t>((*out)[0]));
    steps.of_true.push_back(ValuesOf<float>((*out)[1]));
    steps.of_sampled.push_back(ValuesOf<float>((*out)[2]));
  }
  return steps;
}

TEST(CandidateSamplerTest, EvenAndZipf) {
  const AttrMap wide = {{"range_max", int64_t{1} << 40}}, narrow = {{"range_max", 8}};
  Steps steps = ThreeSteps("UniformCandidateSampler", Attrs(3, false, wide));
  EXPECT_EQ(steps.candidates[0], (Candidates{910117045455, 950245201718, 355269394803}));
  EXPECT_EQ(steps.candidates[1], (Candidates{409796079140, 415667774320, 180590696509}));
  steps = ThreeSteps("LogUniformCandidateSampler", Attrs(3, false, wide));
  EXPECT_EQ(steps.candidates[0], (Candidates{1056, 216899, 3792}));
  EXPECT_EQ(steps.candidates[1], (Candidates{974323513714, 156445369, 344930240}));
  EXPECT_FLOAT_EQ(steps.of_true[0][0], 0.024144604802131653f);
  EXPECT_FLOAT_EQ(steps.of_sampled[0][2], 2.8523032597149722e-05f);
  steps = ThreeSteps("LogUniformCandidateSampler", Attrs(4, true, narrow));
  EXPECT_EQ(steps.candidates[0], (Candidates{0, 1, 7, 5}));
  EXPECT_FLOAT_EQ(steps.of_true[0][0], 0.4740515947341919f);
  EXPECT_FLOAT_EQ(steps.of_sampled[0][0], 0.8971096873283386f);
  // Two draws, both kept: twice the probability, as TensorFlow 1.15 and 2.21 give it.
  steps = ThreeSteps("LogUniformCandidateSampler", Attrs(2, true, narrow));
  EXPECT_EQ(steps.candidates[0], (Candidates{0, 1}));
  EXPECT_FLOAT_EQ(steps.of_true[0][0], 0.2031140135750123f);
}

TEST(CandidateSamplerTest, GivenWeights) {
  const std::vector<float> eight = {1, 2, 3, 4, 5, 6, 7, 8}, six = {9, 1, 1, 5, 1, 2};
  Steps steps = ThreeSteps("FixedUnigramCandidateSampler",
                           Attrs(12, false, {{"range_max", 8}, {"unigrams", eight}}));
  EXPECT_EQ(steps.candidates[0], (Candidates{3, 5, 2, 3, 3, 3, 7, 6, 5, 6, 6, 6}));
  EXPECT_EQ(steps.candidates[1], (Candidates{4, 7, 5, 6, 6, 4, 5, 2, 4, 6, 3, 5}));
  EXPECT_FLOAT_EQ(steps.of_true[0][0], 1.3333333730697632f);
  steps = ThreeSteps(
      "FixedUnigramCandidateSampler",
      Attrs(12, false,
            {{"range_max", 8}, {"unigrams", six}, {"num_reserved_ids", 2}, {"distortion", 0.75f}}));
  EXPECT_EQ(steps.candidates[0], (Candidates{3, 5, 2, 5, 5, 3, 7, 2, 5, 2, 6, 5}));
  EXPECT_FLOAT_EQ(steps.of_true[0][1], 3.0347518920898438f);
  EXPECT_EQ(steps.of_true[0][3], 0);
}

TEST(CandidateSamplerTest, Learned) {
  for (const char* op : {"LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"}) {
    Steps steps = ThreeSteps(op, Attrs(4, false, {{"range_max", 8}}));
    EXPECT_EQ(steps.candidates[0], (Candidates{7, 3, 6, 5}));
    EXPECT_EQ(steps.candidates[1], (Candidates{3, 2, 3, 6}));
    EXPECT_EQ(steps.candidates[2], (Candidates{1, 0, 5, 1}));
    EXPECT_FLOAT_EQ(steps.of_true[2][0], 0.75f);
    steps = ThreeSteps(op, Attrs(4, true, {{"range_max", 8}}));
    EXPECT_EQ(steps.candidates[1], (Candidates{3, 2, 6, 1}));
    EXPECT_FLOAT_EQ(steps.of_true[1][0], 0.5981224179267883f);
  }
}

TEST(CandidateSamplerTest, AllAndRefusals) {
  const int64_t classes[] = {3, 2, 1, 0};
  const Tensor four = Tensor::Of<int64_t>(classes, Shape{2, 2});
  EXPECT_EQ(DrawnBy<int64_t>("AllCandidateSampler", {four}, Attrs(4, true)),
            (Candidates{0, 1, 2, 3}));
  EXPECT_EQ(CodeOf("AllCandidateSampler", {TrueClasses()}, Attrs(4, true)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("UniformCandidateSampler", {four}, Attrs(4, true, {{"range_max", 3}})),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("UniformCandidateSampler", {VectorOf<int64_t>({1})},
                   Attrs(4, true, {{"range_max", 30}})),
            Code::kInvalidArgument);
  const std::vector<float> negative = {1, -1, 1};
  EXPECT_EQ(CodeOf("FixedUnigramCandidateSampler", {four},
                   Attrs(2, false, {{"range_max", 3}, {"unigrams", negative}})),
            Code::kInvalidArgument);
}

TEST(CandidateSamplerTest, AccidentalHits) {
  KernelCall call("ComputeAccidentalHits", {TrueClasses(), VectorOf<int64_t>({5, 1, 3, 5, 7})},
                  {{"num_true", 2}});
  ASSERT_TRUE(call.Run().ok());
  // The last place counts of a candidate that comes twice.
  EXPECT_EQ(ValuesOf<int32_t>(call.output(0)), (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(ValuesOf<int64_t>(call.output(1)), (Candidates{2, 3, 1}));
  EXPECT_EQ(ValuesOf<float>(call.output(2))[0], std::numeric_limits<float>::lowest());
}

}  // namespace
}  // namespace thalweg
