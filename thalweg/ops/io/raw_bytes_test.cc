// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

Result<Tensor> Decoded(const Tensor& bytes, DType type, bool little = true) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> out,
                   RunOp("DecodeRaw", {bytes}, {{"out_type", type}, {"little_endian", little}}));
  return out[0];
}

template <class T>
std::vector<T> Values(const Result<Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
  if (!tensor.ok()) return {};
  return std::vector<T>(tensor->data<T>(), tensor->data<T>() + tensor->num_elements());
}

TEST(RawBytesTest, BothOrders) {
  const Tensor bytes = Tensor::Scalar(std::string("\1\2\3\4\5\6\7\10", 8));
  EXPECT_EQ(Values<int16_t>(Decoded(bytes, DType::kInt16)),
            (std::vector<int16_t>{0x201, 0x403, 0x605, 0x807}));
  EXPECT_EQ(Values<uint16_t>(Decoded(bytes, DType::kUint16, false)),
            (std::vector<uint16_t>{0x102, 0x304, 0x506, 0x708}));
  EXPECT_EQ(Values<int32_t>(Decoded(bytes, DType::kInt32)),
            (std::vector<int32_t>{0x4030201, 0x8070605}));
  EXPECT_EQ(Values<int64_t>(Decoded(bytes, DType::kInt64, false)),
            (std::vector<int64_t>{0x102030405060708}));
  EXPECT_EQ(Values<uint8_t>(Decoded(bytes, DType::kUint8, false))[7], 8);
  // Each part of a complex number is turned by itself.
  const Tensor one = Tensor::Scalar(std::string("\0\0\0\0\x3f\x80\0\0", 8));
  EXPECT_EQ(Values<std::complex<float>>(Decoded(one, DType::kComplex64, false))[0],
            std::complex<float>(0, 1));
  EXPECT_EQ(Values<float>(Decoded(one, DType::kFloat, false))[1], 1);
  EXPECT_EQ(static_cast<float>(Values<Half>(
                Decoded(Tensor::Scalar(std::string("\x40\0", 2)), DType::kHalf, false))[0]),
            2.0f);
  // Any byte but zero is true.
  EXPECT_EQ(Values<bool>(Decoded(Tensor::Scalar(std::string("\0\1\2", 3)), DType::kBool)),
            (std::vector<bool>{false, true, true}));
}

TEST(RawBytesTest, Shapes) {
  const auto two = Decoded(Tensor::Vector<std::string>({"abcd", "efgh"}), DType::kInt16);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->shape(), (Shape{2, 2}));
  EXPECT_EQ(Decoded(Tensor::Vector<std::string>({}), DType::kInt16)->shape(), (Shape{0, 0}));
  EXPECT_EQ(Decoded(Tensor::Vector<std::string>({"", ""}), DType::kInt16)->shape(), (Shape{2, 0}));
  EXPECT_EQ(Decoded(Tensor::Scalar(""), DType::kDouble)->shape(), Shape{0});
}

TEST(RawBytesTest, BadBytes) {
  const Status uneven = Decoded(Tensor::Scalar("abc"), DType::kInt16).status();
  EXPECT_EQ(uneven.code(), Code::kInvalidArgument);
  EXPECT_NE(uneven.ToString().find("length 3"), std::string::npos) << uneven.ToString();
  const Status sizes = Decoded(Tensor::Vector<std::string>({"abcd", "ef"}), DType::kInt16).status();
  EXPECT_EQ(sizes.code(), Code::kInvalidArgument);
  EXPECT_NE(sizes.ToString().find("element 1"), std::string::npos) << sizes.ToString();
}

TEST(RawBytesTest, Padded) {
  const auto padded = [](const Tensor& bytes, const Tensor& length,
                         bool little = true) -> Result<Tensor> {
    ASSIGN_OR_RETURN(const std::vector<Tensor> out,
                     RunOp("DecodePaddedRaw", {bytes, length},
                           {{"out_type", DType::kInt16}, {"little_endian", little}}));
    return out[0];
  };
  const Tensor bytes = Tensor::Vector<std::string>({"\1\2\3\4", "\5\6", "", "\7"});
  const auto four = padded(bytes, Tensor::Scalar(4));
  EXPECT_EQ(Values<int16_t>(four), (std::vector<int16_t>{513, 1027, 1541, 0, 0, 0, 7, 0}));
  EXPECT_EQ(four->shape(), (Shape{4, 2}));
  EXPECT_EQ(Values<int16_t>(padded(bytes, Tensor::Scalar(2))),
            (std::vector<int16_t>{513, 1541, 0, 7}));
  EXPECT_EQ(Values<int16_t>(padded(Tensor::Scalar("\1\2\3"), Tensor::Scalar(4), false)),
            (std::vector<int16_t>{258, 768}));
  for (const int32_t bad : {0, -4, 3, std::numeric_limits<int32_t>::min()}) {
    EXPECT_EQ(padded(bytes, Tensor::Scalar(bad)).status().code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_EQ(padded(bytes, Tensor::Vector<int32_t>({4})).status().code(), Code::kInvalidArgument);
}

std::string Serialized(const Tensor& tensor) {
  const auto out = RunOp("SerializeTensor", {tensor});
  EXPECT_TRUE(out.ok()) << out.status().ToString();
  return out.ok() ? (*out)[0].scalar<std::string>() : "";
}

Result<Tensor> Parsed(const Tensor& bytes, DType type) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> out,
                   RunOp("ParseTensor", {bytes}, {{"out_type", type}}));
  return out[0];
}

TEST(TensorBytesTest, TheBytesOfTensorFlow) {
  // As 2.21 writes them.
  EXPECT_EQ(Serialized(Tensor::Of<int32_t>(std::vector<int32_t>{1, 2}, Shape{1, 2})),
            std::string(
                "\x08\x03\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02\"\x08\x01\0\0\0\x02\0\0\0", 22));
  EXPECT_EQ(Serialized(Tensor::Vector<std::string>({"ab", "c"})),
            std::string("\x08\x07\x12\x04\x12\x02\x08\x02"
                        "B\x02"
                        "abB\x01"
                        "c"));
  EXPECT_EQ(Serialized(Tensor::Scalar(3.0f)), std::string("\x08\x01\x12\0\"\x04\0\0@@", 10));
}

TEST(TensorBytesTest, ThereAndBack) {
  const auto back = Parsed(
      Tensor::Scalar(Serialized(Tensor::Of<double>(std::vector<double>{1, -2, 3}, Shape{3, 1}))),
      DType::kDouble);
  EXPECT_EQ(Values<double>(back), (std::vector<double>{1, -2, 3}));
  EXPECT_EQ(back->shape(), (Shape{3, 1}));
  const auto empty =
      Parsed(Tensor::Scalar(Serialized(Tensor::Of<float>(std::vector<float>{}, Shape{0, 3}))),
             DType::kFloat);
  ASSERT_TRUE(empty.ok()) << empty.status().ToString();
  EXPECT_EQ(empty->shape(), (Shape{0, 3}));
}

TEST(TensorBytesTest, BadMessages) {
  const std::string good = Serialized(Tensor::Scalar(3.0f));
  for (const auto& [bytes, type] : std::vector<std::pair<Tensor, DType>>{
           {Tensor::Scalar(good), DType::kDouble},
           {Tensor::Scalar("xx"), DType::kFloat},
           {Tensor::Scalar(""), DType::kFloat},
           {Tensor::Vector<std::string>({good}), DType::kFloat},
           // A float of 2 ** 40 elements without any.
           {Tensor::Scalar(std::string("\x08\x01\x12\x09\x12\x07\x08\x80\x80\x80\x80\x80\x20", 13)),
            DType::kFloat}}) {
    EXPECT_EQ(Parsed(bytes, type).status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace thalweg
