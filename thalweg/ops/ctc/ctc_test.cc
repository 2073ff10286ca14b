// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

// Time, batch, class.
Tensor Logits() {
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) values.push_back(static_cast<float>(i * 7 % 11 - 5) * 0.3f);
  return Numbers(values, Shape{5, 2, 4});
}
const Tensor kLengths = Numbers<int32_t>({5, 3});

Tensor Places(std::vector<int64_t> values) {
  const auto n = static_cast<int64_t>(values.size() / 2);
  return Numbers(values, Shape{n, 2});
}

// Recorded with TensorFlow 2.21.
TEST(CtcTest, GreedyDecoder) {
  const Tensor sums = Numbers<float>({-5.7f, -3.6f}, Shape{2, 1});
  const auto expect = [&](const AttrMap& attrs, std::vector<int64_t> places,
                          std::vector<int64_t> labels, std::vector<int64_t> shape) {
    const auto got = RunOp("CTCGreedyDecoder", {Logits(), kLengths}, attrs);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(BitDifference((*got)[0], Places(places)), "");
    EXPECT_EQ(BitDifference((*got)[1], Numbers(labels)), "");
    EXPECT_EQ(BitDifference((*got)[2], Numbers(shape)), "");
    EXPECT_EQ(Difference((*got)[3], ToArray<double>(sums), 1e-6), "");
  };
  expect({{"merge_repeated", true}}, {0, 0, 0, 1, 1, 0, 1, 1}, {1, 2, 2, 0}, {2, 2});
  expect({{"blank_index", int64_t{0}}}, {0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 1, 0, 1, 1},
         {3, 1, 1, 1, 2, 2, 2}, {2, 5});
  ExpectError("CTCGreedyDecoder", {Logits(), kLengths}, {{"blank_index", int64_t{4}}},
              Code::kInvalidArgument, "blank_index");
  ExpectError("CTCGreedyDecoder", {Logits(), Numbers<int32_t>({5, 6})}, {},
              Code::kFailedPrecondition, "sequence_length(1)");
  ExpectError("CTCGreedyDecoder", {Numbers<float>({}, Shape{0, 2, 4}), kLengths}, {},
              Code::kInvalidArgument, "must not be empty");
  const auto nothing = RunOp("CTCGreedyDecoder", {Logits(), Numbers<int32_t>({-1, -5})}, {});
  ASSERT_TRUE(nothing.ok()) << nothing.status().ToString();
  EXPECT_EQ((*nothing)[1].num_elements(), 0);
  EXPECT_EQ(BitDifference((*nothing)[2], Numbers<int64_t>({2, 0})), "");
}

// Where the shape is known only in the step.
TEST(CtcTest, DecodersNeedALengthForEverySequence) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Output lengths = b.Op("Placeholder", {}, {{"dtype", DType::kInt32}});
  const Output logits = b.Const(Logits());
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  for (const char* op : {"CTCGreedyDecoder", "CTCBeamSearchDecoder"}) {
    const AttrMap attrs =
        op[3] == 'G' ? AttrMap() : AttrMap({{"beam_width", int64_t{4}}, {"top_paths", int64_t{1}}});
    Node* const decoder = b.OpNode(op, {logits, lengths}, attrs);
    ASSERT_TRUE(b.ok()) << b.status().ToString();
    const Status status = runner.Run({{lengths, Numbers<int32_t>({5})}}, {}, {decoder}).status();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
    EXPECT_NE(status.message().find("vector of 2"), std::string_view::npos) << status.ToString();
  }
}

// Recorded with TensorFlow 2.21.
TEST(CtcTest, BeamSearchDecoder) {
  const AttrMap attrs = {{"beam_width", int64_t{4}}, {"top_paths", int64_t{2}}};
  const auto got = RunOp("CTCBeamSearchDecoder", {Logits(), kLengths}, attrs);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  const std::vector<Tensor> expected = {Places({0, 0, 0, 1, 1, 0, 1, 1}), Places({0, 0, 1, 0}),
                                        Numbers<int64_t>({1, 2, 2, 0}),   Numbers<int64_t>({1, 2}),
                                        Numbers<int64_t>({2, 2}),         Numbers<int64_t>({2, 1})};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(BitDifference((*got)[i], expected[i]), "") << i;
  }
  const Array<double> log_probabilities(Shape{2, 2}, {-1.453114628791809, -2.755671501159668,
                                                      -1.1289621591567993, -1.6999804973602295});
  EXPECT_EQ(Difference((*got)[6], log_probabilities, 1e-5), "");
  ExpectError("CTCBeamSearchDecoder", {Logits(), Numbers<int32_t>({5, 0})}, attrs,
              Code::kInvalidArgument, "Less leaves");
}

// The sum over all paths, one by one. Labels that the search of `Alignments`
// gives for a path: neighbors merged, blanks left out.
double LossByEnumeration(const Array<double>& logits, int64_t b, int64_t steps,
                         const std::vector<int64_t>& labels) {
  const int64_t classes = logits.shape.dim(2);
  double sum = 0;
  std::vector<int64_t> path(static_cast<size_t>(steps), 0);
  for (;;) {
    std::vector<int64_t> read;
    double p = 1;
    for (int64_t t = 0; t < steps; ++t) {
      double total = 0;
      for (int64_t c = 0; c < classes; ++c) total += std::exp(logits.At({t, b, c}));
      const int64_t now = path[static_cast<size_t>(t)];
      p *= std::exp(logits.At({t, b, now})) / total;
      if (now != classes - 1 && (t == 0 || now != path[static_cast<size_t>(t) - 1])) {
        read.push_back(now);
      }
    }
    if (read == labels) sum += p;
    size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) return -std::log(sum);
  }
}

TEST(CtcTest, Loss) {
  const Tensor places = Places({0, 0, 0, 1, 0, 2, 1, 0});
  OpCase("CTCLoss")
      .Reference([](RefCall<double>& r) {
        r.out = {
            {Shape{2},
             {LossByEnumeration(r.in[0], 0, 5, {1, 1, 2}), LossByEnumeration(r.in[0], 1, 3, {0})}},
            Array<double>(r.in[0].shape)};
        // The second output: differences of the first.
        for (int64_t i = 0; i < r.in[0].size(); ++i) {
          Array<double> moved = r.in[0];
          const int64_t b = i / 4 % 2;
          const std::vector<int64_t> labels =
              b == 0 ? std::vector<int64_t>{1, 1, 2} : std::vector<int64_t>{0};
          const auto loss = [&](double step) {
            moved[i] = r.in[0][i] + step;
            return LossByEnumeration(moved, b, b == 0 ? 5 : 3, labels);
          };
          r.out[1][i] = (loss(1e-4) - loss(-1e-4)) / 2e-4;
        }
      })
      .Tolerance(DType::kDouble, 1e-7)  // the reference of the gradient is differences
      .GradInputs({0})
      .GradOutputs({0})
      .Try({In({5, 2, 4}), In(places), In({4}, {1, 1, 2, 0}), In(kLengths)})
      .Run();
}

// Recorded with TensorFlow 2.21.
TEST(CtcTest, WaysToReadLabels) {
  const std::vector<Tensor> inputs = {Logits(), Places({0, 0, 0, 1, 0, 2, 1, 0}),
                                      Numbers<int32_t>({1, 1, 2, 0}), kLengths};
  const auto expect = [&](const AttrMap& attrs, double a, double b) {
    const auto got = RunOp("CTCLoss", inputs, attrs);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_NEAR((*got)[0].data<float>()[0], a, 1e-3);
    EXPECT_NEAR((*got)[0].data<float>()[1], b, 1e-3);
  };
  expect({}, 3.99010, 2.34847);
  expect({{"ctc_merge_repeated", false}}, 3.26596, 3.26766);
  expect({{"preprocess_collapse_repeated", true}}, 1.39407, 2.34847);
}

TEST(CtcTest, Refusals) {
  const auto run = [](std::vector<int32_t> labels, std::vector<int32_t> lengths, bool ignore) {
    return RunOp("CTCLoss",
                 {Logits(), Places({0, 0, 0, 1, 0, 2, 1, 0}), Numbers(labels), Numbers(lengths)},
                 {{"ignore_longer_outputs_than_inputs", ignore}});
  };
  const auto refuse = [&](std::vector<int32_t> labels, std::vector<int32_t> lengths,
                          std::string_view why) {
    const Status status = run(labels, lengths, false).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(why), std::string_view::npos) << status.ToString();
  };
  refuse({1, 1, 2, 0}, {2, 3}, "required: 3, available: 2");
  refuse({1, 1, 3, 0}, {5, 3}, "label");
  refuse({1, 1, -1, 0}, {5, 3}, "label");
  refuse({1, 1, 2, 0}, {5, 6}, "sequence_length(1)");
  EXPECT_EQ((*run({1, 1, 2, 0}, {2, 3}, true))[0].data<float>()[0], 0);
  EXPECT_TRUE(std::isinf((*run({1, 1, 1, 0}, {3, 3}, false))[0].data<float>()[0]));
  ExpectError("CTCLoss", {Logits(), Places({0, 0}), Numbers<int32_t>({1}), kLengths}, {},
              Code::kInvalidArgument, "zero in batch 1");
  ExpectError("CTCLoss", {Logits(), Places({2, 0}), Numbers<int32_t>({1}), kLengths}, {},
              Code::kInvalidArgument, "batch index");
}

}  // namespace
}  // namespace thalweg
