// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/ops/array/test_element_types.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(FillTest, RepeatsTheValue) {
  EveryElementType("Fill")
      .Reference([]<class V>(RefCall<V>& r) {
        Dims dims;
        for (const V& dim : r.in[0].values) dims.push_back(static_cast<int64_t>(std::real(dim)));
        r.out = {Array<V>(Shape(dims))};
        for (V& value : r.out[0].values) value = r.in[1][0];
      })
      .Try({In({2}, {3, 400}), In({}, {1})})
      .Try({In({0}, {}), In({}, {2})})
      .Try({In({1}, {0}), In({}, {3})}, {{"index_type", DType::kInt64}})
      .Bad({In({1}, {-1}), In({}, {1})}, {}, Code::kInvalidArgument, "must be >= 0")
      .Bad({In({1}, {2}), In({2}, {1, 1})}, {}, Code::kInvalidArgument, "")
      .Trivial("the case of one element")
      .Run();
}

TEST(FillTest, ScalarsAndVectorsOfOneAreTakenForEachOther) {
  const Tensor vector = Tensor::Vector<float>({7});
  KernelCall call("Fill", {Tensor::Scalar<int32_t>(3), vector});
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(call.output(0).shape(), (Shape{3}));
  EXPECT_EQ(call.output(0).data<float>()[2], 7);
  EXPECT_EQ(
      KernelCall("Fill", {Tensor::Scalar<int32_t>(3), Tensor::Vector<float>({7, 8})}).Run().code(),
      Code::kInvalidArgument);
}

TEST(FillTest, OfText) {
  Result<std::vector<Tensor>> filled =
      RunOp("Fill", {Tensor::Vector<int32_t>({2}), Tensor::Scalar("a text that is not short")});
  ASSERT_TRUE(filled.ok()) << filled.status().ToString();
  EXPECT_EQ((*filled)[0].data<std::string>()[1], "a text that is not short");
}

TEST(FillTest, MinusZeroIsNotTheZeroOfPages) {
  Result<std::vector<Tensor>> filled =
      RunOp("Fill", {Tensor::Vector<int32_t>({67'108'865}), Tensor::Scalar(-0.0f)});
  ASSERT_TRUE(filled.ok()) << filled.status().ToString();
  EXPECT_TRUE(std::signbit((*filled)[0].data<float>()[12'345]));
}

TEST(FillTest, TooLargeIsAnError) {
  EXPECT_EQ(RunOp("Fill", {Tensor::Vector<int64_t>({INT64_MAX, 2}), Tensor::Scalar(1.0f)})
                .status()
                .code(),
            Code::kInvalidArgument);
  EXPECT_EQ(RunOp("Fill", {Tensor::Vector<int64_t>({INT64_MAX / 4}), Tensor::Scalar(1.0)})
                .status()
                .code(),
            Code::kResourceExhausted);
}

TEST(ZerosLikeTest, HasTheShapeOnly) {
  EveryElementType("ZerosLike")
      .Reference([]<class V>(RefCall<V>& r) { r.out = {Array<V>(r.in[0].shape)}; })
      .Try({In({7, 31})})
      .Try({In({})})
      .Trivial("zeros are the point")
      .Run();
  Result<std::vector<Tensor>> texts = RunOp("ZerosLike", {Tensor::Scalar("x")});
  EXPECT_EQ((*texts)[0].scalar<std::string>(), "");
}

TEST(OnesLikeTest, HasTheShapeOnly) {
  OpCase("OnesLike")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(r.in[0].shape)};
        for (V& value : r.out[0].values) value = V{1};
      })
      .Try({In({7, 31})})
      .Try({In({})})
      .Run();
}

TEST(EmptyTest, IsZeroWhateverInitSays) {
  for (bool init : {false, true}) {
    Result<std::vector<Tensor>> made = RunOp("Empty", {Tensor::Vector<int32_t>({2, 200})},
                                             {{"dtype", DType::kFloat}, {"init", init}});
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    for (float value : (*made)[0].flat<float>()) EXPECT_EQ(value, 0.0f);
  }
}

}  // namespace
}  // namespace thalweg
