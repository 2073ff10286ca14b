// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/random/test_digests.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

// "257" or "257:-3:11": number of elements, limits.
struct Argument {
  int64_t n = 0;
  int64_t low = 0;
  int64_t high = 0;
};

Argument Parse(const std::string& text) {
  Argument argument;
  char colon;
  std::istringstream(text) >> argument.n >> colon >> argument.low >> colon >> argument.high;
  return argument;
}

Tensor IntTensor(DType dtype, int64_t value) {
  return dtype == DType::kInt32 ? Tensor::Scalar(static_cast<int32_t>(value))
                                : Tensor::Scalar(value);
}

// What RandomShuffle was given: "range(16)" or "reshape(range(12),[4,3])".
Tensor Shuffled(const std::string& text) {
  const bool matrix = text.starts_with("reshape");
  std::vector<int32_t> values(matrix ? 12 : std::stoul(text.substr(6)));
  std::iota(values.begin(), values.end(), 0);
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::Of<int32_t>(values, matrix ? Shape{4, 3} : Shape{n});
}

Tensor Logits() {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0, 1, -1, 2, 5, 5, -inf, 0, 0.1f, 0.2f, 0.3f, 0.4f};
  return Tensor::Of<float>(values, Shape{3, 4});
}

Output NodeOf(GraphBuilder& b, const RecordedRow& row) {
  AttrMap attrs = {{"seed", row.seed}, {"seed2", row.seed2}};
  if (row.op == "RandomShuffle") return b.Op(row.op, {b.Const(Shuffled(row.argument))}, attrs);
  const Argument argument = Parse(row.argument);
  const auto count = static_cast<int32_t>(argument.n);
  if (row.op == "Multinomial") {
    return b.Op(row.op, {b.Const(Logits()), b.Const(Tensor::Scalar(count))}, attrs);
  }
  const Output shape = b.Const(Tensor::Vector<int32_t>({count}));
  const DType dtype = *ParseDType(row.dtype);
  if (row.op == "RandomUniformInt") {
    return b.Op(
        row.op,
        {shape, b.Const(IntTensor(dtype, argument.low)), b.Const(IntTensor(dtype, argument.high))},
        attrs);
  }
  attrs.Set("dtype", dtype);
  return b.Op(row.op, {shape}, attrs);
}

// Every recorded output of these operations, first and second step.
void ExpectRecordedBits(const std::string& op) {
  TestMachine machine(compute::BestIsaLevel(), /*backwards=*/true);
  std::unique_ptr<Graph> graph;
  std::unique_ptr<GraphRunner> runner;
  RecordedRow last;
  Output node;
  int compared = 0;
  for (const RecordedRow& row : RecordedRows()) {
    if (row.op != op) continue;
    if (runner == nullptr || !row.IsRunOfSameNode(last)) {
      runner = nullptr;
      graph = std::make_unique<Graph>(AllRegistries().ops);
      GraphBuilder b(graph.get());
      node = NodeOf(b, row);
      ASSERT_TRUE(b.ok()) << b.status().ToString();
      runner = std::make_unique<GraphRunner>(*AllRegistries().kernels, machine);
    }
    last = row;
    Result<std::vector<Tensor>> got = runner->Run({}, {node});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(DigestOf((*got)[0]), row.digest)
        << row.op << " " << row.dtype << " " << row.argument << " seeds " << row.seed << ", "
        << row.seed2 << ", run " << row.run << ": " << (*got)[0].ToString();
    ++compared;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(compared, 40);
}

TEST(Sha256Test, OfKnownTexts) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(RandomTest, UniformHasTheRecordedBits) { ExpectRecordedBits("RandomUniform"); }
TEST(RandomTest, NormalHasTheRecordedBits) { ExpectRecordedBits("RandomStandardNormal"); }
TEST(RandomTest, TruncatedNormalHasTheRecordedBits) { ExpectRecordedBits("TruncatedNormal"); }
TEST(RandomTest, UniformIntHasTheRecordedBits) { ExpectRecordedBits("RandomUniformInt"); }
TEST(RandomTest, ShuffleHasTheRecordedBits) { ExpectRecordedBits("RandomShuffle"); }
TEST(RandomTest, MultinomialHasTheRecordedBits) { ExpectRecordedBits("Multinomial"); }

TEST(RandomTest, NoSeedMeansOtherNumbersEveryTime) {
  const auto draw = [] {
    KernelCall call("RandomUniform", {Tensor::Vector<int32_t>({8})}, {{"dtype", DType::kFloat}});
    EXPECT_TRUE(call.Run().ok());
    return DigestOf(call.output(0));
  };
  EXPECT_NE(draw(), draw());
}

TEST(RandomTest, RefusesBadArguments) {
  const auto code = [](const char* op, std::vector<Tensor> inputs, AttrMap attrs) {
    return KernelCall(op, std::move(inputs), std::move(attrs)).Run().code();
  };
  const AttrMap dtype = {{"dtype", DType::kFloat}};
  EXPECT_EQ(code("RandomUniform", {Tensor::Vector<int32_t>({-1})}, dtype), Code::kInvalidArgument);
  EXPECT_EQ(code("RandomUniform", {Tensor::Scalar(3)}, dtype), Code::kInvalidArgument);
  EXPECT_EQ(code("TruncatedNormal", {Tensor::Vector<int64_t>({INT64_MAX / 8})}, dtype),
            Code::kResourceExhausted);
  const Tensor two = Tensor::Vector<int32_t>({2});
  EXPECT_EQ(code("RandomUniformInt", {two, Tensor::Scalar(3), Tensor::Scalar(3)}, {}),
            Code::kInvalidArgument);
  EXPECT_EQ(
      code("RandomUniformInt", {two, Tensor::Scalar(INT32_MIN), Tensor::Scalar(INT32_MAX)}, {}),
      Code::kOk);
  EXPECT_EQ(code("Multinomial", {Logits(), Tensor::Scalar(-1)}, {}), Code::kInvalidArgument);
  EXPECT_EQ(code("Multinomial", {Tensor::Vector<float>({1}), Tensor::Scalar(1)}, {}),
            Code::kInvalidArgument);
  EXPECT_EQ(code("Multinomial",
                 {*Tensor::AllocateHost(DType::kFloat, Shape{2, 0}), Tensor::Scalar(1)}, {}),
            Code::kInvalidArgument);
}

TEST(RandomTest, EmptyOutputsDrawNothing) {
  KernelCall call("RandomStandardNormal", {Tensor::Vector<int32_t>({0, 3})},
                  {{"dtype", DType::kDouble}, {"seed", 1}});
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(call.output(0).num_elements(), 0);
}

}  // namespace
}  // namespace thalweg
