// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/test_queue_calls.h"
#include "thalweg/testing/graph_runner.h"

namespace thalweg {
namespace {

using Floats = std::vector<float>;

Floats Values(const Tensor& tensor) {
  const auto values = tensor.flat<float>();
  return {values.begin(), values.end()};
}

class Dense : public QueueCalls {
 public:
  explicit Dense(std::string reduction, PartialShape shape = {2})
      : QueueCalls("ResourceConditionalAccumulator", {{"dtype", DType::kFloat},
                                                      {"shape", std::move(shape)},
                                                      {"reduction_type", std::move(reduction)}}) {}
  Status Apply(int64_t step, Tensor gradient) const {
    const DType dtype = gradient.dtype();
    return Run("ResourceAccumulatorApplyGradient", {Tensor::Scalar(step), std::move(gradient)},
               {{"dtype", dtype}});
  }
  StartedCall Take(int32_t n, DType dtype = DType::kFloat) const {
    return Start("ResourceAccumulatorTakeGradient", {Tensor::Scalar(n)}, {{"dtype", dtype}});
  }
  int32_t Count() const {
    return Start("ResourceAccumulatorNumAccumulated", {}, {})->output(0).scalar<int32_t>();
  }
};

TEST(AccumulatorTest, MeanAndSumOfGradients) {  // numbers of TensorFlow 1.15
  for (const char* reduction : {"MEAN", "SUM"}) {
    const Dense acc(reduction);
    const Tensor first = Tensor::Vector<float>({1, 2});
    EXPECT_TRUE(acc.Apply(0, first).ok());
    const auto take = acc.Take(3);
    EXPECT_FALSE(take->ended());
    EXPECT_TRUE(acc.Apply(0, Tensor::Vector<float>({3, 4})).ok());
    EXPECT_EQ(acc.Count(), 2);
    EXPECT_TRUE(acc.Apply(0, Tensor::Vector<float>({5, 9})).ok());
    ASSERT_TRUE(take->ended());
    EXPECT_EQ(Values(take->output(0)), reduction[0] == 'M' ? (Floats{3, 5}) : (Floats{9, 15}));
    EXPECT_EQ(Values(first), (Floats{1, 2})) << "a gradient stays as it is";
    EXPECT_EQ(acc.Count(), 0);
  }
}

TEST(AccumulatorTest, GradientsOfOlderStepsAreDropped) {
  const Dense acc("MEAN");
  const Tensor x = Tensor::Vector<float>({1, 1});
  EXPECT_TRUE(acc.Apply(0, x).ok());
  EXPECT_TRUE(acc.Take(1)->ended());  // now at step 1
  EXPECT_TRUE(acc.Apply(0, x).ok());
  EXPECT_EQ(acc.Count(), 0);
  EXPECT_TRUE(acc.Apply(1, x).ok());
  EXPECT_EQ(acc.Count(), 1);
  EXPECT_TRUE(acc.Run("ResourceAccumulatorSetGlobalStep", {Tensor::Scalar(int64_t{5})}).ok());
  EXPECT_TRUE(acc.Apply(4, x).ok());
  EXPECT_EQ(acc.Count(), 1);
}

TEST(AccumulatorTest, ACancelledTakeLeavesTheGradients) {
  const Dense acc("SUM");
  const auto take = acc.Take(2);
  EXPECT_TRUE(acc.Apply(0, Tensor::Vector<float>({1, 2})).ok());
  take->cancellation().Cancel();
  EXPECT_EQ(take->status().code(), Code::kCancelled);
  EXPECT_EQ(Values(acc.Take(1)->output(0)), (Floats{1, 2}));
}

TEST(AccumulatorTest, BadGradients) {
  const Dense acc("MEAN"), any("MEAN", PartialShape());
  const Status status = acc.Apply(0, Tensor::Vector<float>({1, 2, 3}));
  EXPECT_EQ(status.ToString(), "INVALID_ARGUMENT: Shape mismatch: expected [2], got [3]");
  EXPECT_EQ(acc.Apply(0, Tensor::Vector<double>({1, 2})).code(), Code::kInvalidArgument);
  EXPECT_TRUE(any.Apply(0, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(any.Apply(0, Tensor::Vector<float>({1})).code(), Code::kInvalidArgument);
  EXPECT_EQ(acc.Take(0)->status().message(), "Argument num_required must be positive, but was 0");
  EXPECT_EQ(acc.Take(1, DType::kDouble)->status().code(), Code::kInvalidArgument);
  EXPECT_EQ(acc.Run("QueueSizeV2").code(), Code::kNotFound);
}

class RowsTest : public testing::Test {
 protected:
  RowsTest()
      : graph_(AllRegistries().ops),
        b_(&graph_),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {}

  Status Apply(Output handle, std::vector<int64_t> indices, const Tensor& values,
               std::vector<int64_t> shape = {}) {
    const auto vector = [&](const std::vector<int64_t>& v) {
      return b_.Const(Tensor::Of<int64_t>(v, Shape{static_cast<int64_t>(v.size())}));
    };
    Node* node = b_.OpNode("SparseAccumulatorApplyGradient",
                           {handle, b_.Const(Tensor::Scalar(int64_t{9})), vector(indices),
                            b_.Const(values), vector(shape)},
                           {{"dtype", DType::kFloat}, {"has_known_shape", !shape.empty()}});
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
    return runner_.Run({}, {}, {node}).status();
  }
  std::vector<Tensor> Take(Output handle) {
    Node* take = b_.OpNode("SparseAccumulatorTakeGradient", {handle, b_.Const(Tensor::Scalar(1))},
                           {{"dtype", DType::kFloat}});
    Result<std::vector<Tensor>> got = runner_.Run({}, {{take, 0}, {take, 1}, {take, 2}});
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return got.ok() ? *got : std::vector<Tensor>(3);
  }
  Output Handle(std::string reduction, PartialShape shape) {
    return b_.Op("SparseConditionalAccumulator", {},
                 {{"dtype", DType::kFloat},
                  {"shape", std::move(shape)},
                  {"reduction_type", std::move(reduction)}});
  }
  static Tensor Matrix(std::vector<float> values) {
    return Tensor::Of<float>(values, Shape{static_cast<int64_t>(values.size()) / 2, 2});
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  GraphRunner runner_;
};

TEST_F(RowsTest, MeanAndSumOfRows) {  // numbers of TensorFlow 1.15
  for (const char* reduction : {"MEAN", "SUM"}) {
    const Output handle = Handle(reduction, PartialShape{4, 2});
    EXPECT_TRUE(Apply(handle, {0, 2}, Matrix({1, 1, 2, 2}), {4, 2}).ok());
    EXPECT_TRUE(Apply(handle, {2, 3}, Matrix({4, 4, 8, 8}), {4, 2}).ok());
    const std::vector<Tensor> got = Take(handle);
    const float middle = reduction[0] == 'M' ? 3 : 6;
    EXPECT_EQ(Values(got[1]), (Floats{1, 1, middle, middle, 8, 8}));
    EXPECT_EQ(got[0].data<int64_t>()[2], 3);
    EXPECT_EQ(got[2].data<int64_t>()[0], 4);
  }
}

TEST_F(RowsTest, AnUnknownShapeIsMinusOne) {
  const Output handle = Handle("MEAN", PartialShape());
  EXPECT_TRUE(Apply(handle, {1, 1}, Matrix({1, 1, 2, 2})).ok());
  const std::vector<Tensor> got = Take(handle);
  EXPECT_EQ(Values(got[1]), (Floats{3, 3})) << "a row that comes twice in one gradient is added";
  EXPECT_EQ(got[2].data<int64_t>()[0], -1);
  EXPECT_EQ(got[2].data<int64_t>()[1], 2);
}

TEST_F(RowsTest, BadRows) {
  const Output handle = Handle("MEAN", PartialShape{4, 2});
  EXPECT_EQ(Apply(handle, {4}, Matrix({1, 1}), {4, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Apply(handle, {-1}, Matrix({1, 1}), {4, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Apply(handle, {1, 2}, Matrix({1, 1}), {4, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Apply(handle, {1}, Matrix({1, 1}), {5, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Apply(handle, {1}, Matrix({1, 1}), {-4, 2}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
