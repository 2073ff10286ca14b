// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/random/test_recorded.h"
#include "thalweg/testing/graph_runner.h"

namespace thalweg {
namespace {

// A generator's state in a resource variable, and operations on it one after another.
class Generator {
 public:
  explicit Generator(std::vector<int64_t> state)
      : machine_(compute::BestIsaLevel(), false),
        graph_(AllRegistries().ops),
        b_(&graph_),
        runner_(*AllRegistries().kernels, machine_) {
    handle_ =
        b_.Op("VarHandleOp", {}, {{"dtype", DType::kInt64}, {"shape", PartialShape::Unknown()}});
    Node* assign = b_.OpNode("AssignVariableOp", {handle_, b_.Const(VectorOf(state))});
    EXPECT_TRUE(b_.ok() && runner_.Run({}, {}, {assign}).ok()) << b_.status().ToString();
  }
  Result<std::vector<Tensor>> Run(const char* op, std::vector<Tensor> inputs, AttrMap attrs) {
    std::vector<Output> sources = {handle_};
    for (const Tensor& input : inputs) sources.push_back(b_.Const(input));
    Node* node = b_.OpNode(op, sources, std::move(attrs));
    RETURN_IF_ERROR(b_.status());
    if (node->num_outputs() == 0) return runner_.Run({}, {}, {node});
    return runner_.Run({}, {{node, 0}});
  }
  template <class T>
  std::vector<T> Draw(const char* op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    const auto out = Run(op, std::move(inputs), std::move(attrs));
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return out.ok() && !out->empty() ? ValuesOf<T>((*out)[0]) : std::vector<T>();
  }
  std::vector<int64_t> State() {
    const Output read = b_.Op("ReadVariableOp", {handle_}, {{"dtype", DType::kInt64}});
    return ValuesOf<int64_t>((*runner_.Run({}, {read}))[0]);
  }

 private:
  TestMachine machine_;
  Graph graph_;
  GraphBuilder b_;
  GraphRunner runner_;
  Output handle_;
};

const Tensor& Philox1() {
  static const Tensor one = Tensor::Scalar(int64_t{1});
  return one;
}

TEST(StatefulRandomTest, RecordedBitsAndStates) {
  Generator g({1, 2, 3});
  const Tensor three = VectorOf<int64_t>({3});
  EXPECT_EQ(g.Draw<float>("StatefulUniform", {Philox1(), three}),
            (std::vector<float>{0.45901167392730713f, 0.5334248542785645f, 0.9627732038497925f}));
  EXPECT_EQ(g.State(), (std::vector<int64_t>{769, 2, 3}));
  EXPECT_EQ(g.Draw<float>("StatefulStandardNormalV2", {Philox1(), three}),
            (std::vector<float>{-0.4585241377353668f, -0.07273472845554352f, -2.131155490875244f}));
  EXPECT_EQ(g.State(), (std::vector<int64_t>{1537, 2, 3}));
  EXPECT_EQ(
      g.Draw<float>("StatefulTruncatedNormal", {Philox1(), three}),
      (std::vector<float>{-0.33370697498321533f, -1.4834388494491577f, -0.49596843123435974f}));
  EXPECT_EQ(
      g.Draw<uint64_t>("StatefulUniformFullInt", {Philox1(), three}),
      (std::vector<uint64_t>{14364292109917363134u, 14413951366524605842u, 17122210918848366092u}));
  EXPECT_EQ(g.Draw<int64_t>("StatefulUniformInt", {Philox1(), three, Tensor::Scalar(int64_t{0}),
                                                   Tensor::Scalar(int64_t{10})}),
            (std::vector<int64_t>{8, 8, 3}));
  EXPECT_EQ(g.State(), (std::vector<int64_t>{3841, 2, 3}));
  g.Draw<int64_t>("StatefulRandomBinomial",
                  {Philox1(), three, Tensor::Scalar(10.0), Tensor::Scalar(0.25)});
  EXPECT_EQ(g.State(), (std::vector<int64_t>{80641, 2, 3}));
  g.Draw<int64_t>("RngSkip", {Philox1(), Tensor::Scalar(int64_t{5})});
  EXPECT_EQ(g.State(), (std::vector<int64_t>{81921, 2, 3}));
  EXPECT_EQ(g.Draw<int64_t>("RngReadAndSkip", {Tensor::Scalar(1), Tensor::Scalar(uint64_t{7})}),
            (std::vector<int64_t>{81921, 2, 3}));
  EXPECT_EQ(g.State(), (std::vector<int64_t>{83713, 2, 3}));
}

// As 2.21 gives them, however long the variable is.
TEST(StatefulRandomTest, ReadAndSkipGivesTheThreeNumbersThatInferencePromises) {
  Generator g({1, 2, 3, 4, 5});
  EXPECT_EQ(g.Draw<int64_t>("RngReadAndSkip", {Tensor::Scalar(1), Tensor::Scalar(uint64_t{7})}),
            (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(g.State(), (std::vector<int64_t>{1793, 2, 3, 4, 5}));
}

TEST(StatefulRandomTest, OldFormAndCarry) {
  Generator g({1, -1, 2, 3}), same({-1, 2, 3});
  const Tensor three = VectorOf<int64_t>({3});
  EXPECT_EQ(g.Draw<float>("StatefulStandardNormal", {three}),
            same.Draw<float>("StatefulStandardNormalV2", {Philox1(), three}));
  EXPECT_EQ(g.State(), (std::vector<int64_t>{1, 767, 3, 3}));
  const auto code = [&](std::vector<int64_t> state) {
    return Generator(std::move(state)).Run("StatefulStandardNormal", {three}, {}).status().code();
  };
  EXPECT_EQ(code({1, 2, 3}), Code::kInvalidArgument);
  EXPECT_EQ(code({4, 2, 3, 4}), Code::kInvalidArgument);
}

TEST(StatefulRandomTest, BinomialsMoveTheStateByFourSamplesAtATime) {  // as recorded from 2.21
  for (const auto& [samples, moved] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 51200}, {3, 76800}, {9, 153600}, {77, 1024000}}) {
    Generator g({3, 5, 7});
    g.Draw<int64_t>("StatefulRandomBinomial", {Philox1(), VectorOf<int64_t>({samples}),
                                               Tensor::Scalar(9.0), Tensor::Scalar(0.4)});
    EXPECT_EQ(g.State()[0], 3 + moved);
  }
}

TEST(StatefulRandomTest, RefusesBadArguments) {
  const Tensor three = VectorOf<int64_t>({3});
  const auto code = [&](std::vector<int64_t> state, int64_t algorithm) {
    return Generator(std::move(state))
        .Run("StatefulUniform", {Tensor::Scalar(algorithm), three}, {})
        .status()
        .code();
  };
  EXPECT_EQ(code({1, 2, 3}, 1), Code::kOk);
  EXPECT_EQ(code({1, 2}, 1), Code::kInvalidArgument);
  EXPECT_EQ(code({1, 2, 3}, 2), Code::kUnimplemented);
  EXPECT_EQ(code({1, 2, 3}, 3), Code::kOk);  // whichever is best, as in 2.21
  EXPECT_EQ(code({1, 2, 3}, 9), Code::kInvalidArgument);
  EXPECT_THAT(
      Generator({1, 2, 3})
          .Run("StatefulUniformInt",
               {Tensor::Scalar(int64_t{1}), three, VectorOf<int32_t>({1}), Tensor::Scalar(2)}, {})
          .status()
          .message(),
      ::testing::HasSubstr("Shape must be rank 0 but is rank 1 for "));
}

TEST(StatefulRandomTest, NonDeterministicIntsDiffer) {
  const auto draw = [] {
    return DrawnBy<int64_t>("NonDeterministicInts", {VectorOf<int64_t>({4})});
  };
  EXPECT_NE(draw(), draw());
}

}  // namespace
}  // namespace thalweg
