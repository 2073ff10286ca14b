// SPDX-License-Identifier: Apache-2.0
// Values and errors are those of TensorFlow 1.15.
#include <limits>

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

TEST(CompareBitpackTest, EightToAByte) {
  const Tensor bytes = Numbers<uint8_t>({8, 66}, Shape{2, 1});
  const auto expect = [&]<class T>(T threshold) {
    std::vector<T> x;
    for (int i = 0; i < 16; ++i) x.push_back(static_cast<T>(i % 5 - 2));
    ExpectOutputs("CompareAndBitpack", {Numbers<T>(x, Shape{2, 8}), Tensor::Scalar(threshold)}, {},
                  {bytes});
  };
  expect(1.0F);
  expect(1.0);
  expect(int8_t{1});
  expect(int64_t{1});
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  ExpectOutputs("CompareAndBitpack",
                {Numbers<float>({kNan, 1, 2, 3, 0, -1, kInf, -kInf}), Tensor::Scalar(1.0F)}, {},
                {Numbers<uint8_t>({50})});
}

TEST(CompareBitpackTest, TruthValuesAsTheyAre) {
  Tensor x = *Tensor::AllocateHost(DType::kBool, Shape{8});
  for (int i = 0; i < 8; ++i) x.mutable_data<bool>()[i] = i % 2 == 0;
  for (const bool threshold : {false, true}) {
    ExpectOutputs("CompareAndBitpack", {x, Tensor::Scalar(threshold)}, {},
                  {Numbers<uint8_t>({170})});
  }
}

TEST(CompareBitpackTest, SizesAndBadInput) {
  const auto floats = [](const Shape& shape) {
    return Numbers<float>(std::vector<float>(static_cast<size_t>(shape.num_elements())), shape);
  };
  const Tensor zero = Tensor::Scalar(0.0F);
  ExpectOutputs("CompareAndBitpack", {floats({2, 0}), zero}, {},
                {Numbers<uint8_t>({}, Shape{2, 0})});
  const auto refuse = [](const std::vector<Tensor>& inputs, std::string_view words) {
    ExpectError("CompareAndBitpack", inputs, {}, Code::kInvalidArgument, words);
  };
  refuse({floats({2, 7}), zero}, "Dimension size must be evenly divisible by 8 but is 7");
  refuse({zero, zero}, "Shape must be at least rank 1 but is rank 0");
  refuse({floats({2, 8}), floats({1})}, "Shape must be rank 0 but is rank 1");
}

}  // namespace
}  // namespace thalweg
