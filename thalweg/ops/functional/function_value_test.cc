// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <complex>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// The values that release 2.21 gives.
TEST(FunctionValueTest, ToBool) {
  const std::vector<std::pair<Tensor, bool>> cases = {
      {Tensor::Scalar(true), true},
      {Tensor::Scalar(false), false},
      {Tensor::Scalar<int32_t>(0), false},
      {Tensor::Scalar<int64_t>(-3), true},
      {Tensor::Scalar<uint8_t>(7), true},
      {Tensor::Scalar(0.0f), false},
      {Tensor::Scalar(0.5), true},
      {Tensor::Scalar(""), false},
      {Tensor::Scalar("a"), true},
      {Tensor::Vector<int32_t>({0}), true},
      {Tensor::Of<float>({}, Shape{1, 0}), false},
  };
  for (const auto& [value, truth] : cases) {
    const auto got = RunOp("ToBool", {value});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(*(*got)[0].data<bool>(), truth);
  }
  EXPECT_EQ(RunOp("ToBool", {Tensor::Scalar(std::complex<float>(1, 0))}).status().code(),
            Code::kInvalidArgument);
}

TEST(FunctionValueTest, FakeParamHasTheShapeThatIsKnown) {
  const auto shape = [](const PartialShape& given) {
    return (*RunOp("FakeParam", {}, {{"dtype", DType::kFloat}, {"shape", given}}))[0].shape();
  };
  EXPECT_EQ(shape(PartialShape{2, 3}), (Shape{2, 3}));
  EXPECT_EQ(shape(PartialShape{PartialShape::kUnknownDim}), (Shape{0}));
  EXPECT_EQ(shape(PartialShape::Unknown()), Shape());
}

TEST(FunctionValueTest, DeviceIndex) {
  const auto index = [](std::vector<std::string> names) {
    return *(*RunOp("DeviceIndex", {}, {{"device_names", std::move(names)}}))[0].data<int32_t>();
  };
  EXPECT_EQ(index({"CPU", "GPU"}), 0);
  EXPECT_EQ(index({"GPU", "CPU"}), 1);
  EXPECT_EQ(index({"GPU"}), 1);
}

}  // namespace
}  // namespace thalweg
