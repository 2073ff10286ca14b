// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/tensor_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <fstream>
#include <iterator>
#include <random>

#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {
namespace {

namespace tp = pb::TensorProto;
using ::testing::HasSubstr;

std::string FromBase64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<char>(bits >> (count -= 8)));
  }
  return bytes;
}

struct GoldenTensor {
  DType dtype;
  std::string proto;
  bool python_form;  // as make_tensor_proto writes it
};

// The rows of a golden file; of its JSON only two keys are looked at.
std::vector<GoldenTensor> ReadGolden(const std::string& release) {
  std::ifstream in(THALWEG_GOLDEN_DIR "/tensors/" + release + "/tensor_protos.json");
  const std::string json{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto value_after = [&](std::string_view key, size_t from) {
    const size_t begin = json.find(key, from) + key.size();
    return json.substr(begin, json.find('"', begin) - begin);
  };
  std::vector<GoldenTensor> rows;
  for (size_t at = json.find("\"dtype\": \""); at != std::string::npos;
       at = json.find("\"dtype\": \"", at + 1)) {
    const size_t end = std::min(json.find("\"dtype\": \"", at + 1), json.size());
    rows.push_back({*ParseDType(value_after("\"dtype\": \"", at)),
                    FromBase64(value_after("\"proto\": \"", at)),
                    json.substr(at, end - at).find("\"note\"") == std::string::npos});
  }
  return rows;
}

// The golden values follow from the shape.
std::vector<int> GoldenValues(const Shape& shape) {
  if (shape.IsScalar()) return {3};
  if (shape == Shape{4}) return {1, 2, 3, 0};
  if (shape == Shape{2, 1}) return {1, 1};
  if (shape == Shape{5}) return {1, 2, 2, 2, 2};
  return std::vector<int>(static_cast<size_t>(shape.num_elements()), 5);
}

void ExpectGoldenValues(const Tensor& tensor) {
  const std::vector<int> expected = GoldenValues(tensor.shape());
  ASSERT_EQ(static_cast<int64_t>(expected.size()), tensor.num_elements());
  if (tensor.dtype() == DType::kString) {
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(tensor.flat<std::string>()[i], StrCat(expected[i]));
    }
    return;
  }
  bool checked = false;
  ForEachType<PodTypes>([&]<class T>() {
    if (tensor.dtype() != kDTypeOf<T>) return;
    checked = true;
    for (size_t i = 0; i < expected.size(); ++i) {
      const T& value = tensor.flat<T>()[i];
      if constexpr (std::is_same_v<T, bool>) {
        EXPECT_EQ(value, expected[i] != 0);
      } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                           std::is_same_v<T, std::complex<double>>) {
        EXPECT_EQ(value, T(expected[i]));
      } else {
        EXPECT_EQ(static_cast<float>(value), static_cast<float>(expected[i]));
      }
    }
  });
  EXPECT_TRUE(checked) << DTypeName(tensor.dtype());
}

class GoldenTensorProtoTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenTensorProtoTest, IsReadAndWrittenAsTheReleaseDoes) {
  const std::vector<GoldenTensor> rows = ReadGolden(GetParam());
  ASSERT_EQ(rows.size(), 81u);
  for (const GoldenTensor& row : rows) {
    Result<OwnedMessage> message = ParseMessage(tp::Descriptor(), row.proto);
    ASSERT_TRUE(message.ok());
    Result<Tensor> tensor = TensorFromProto(**message);
    ASSERT_TRUE(tensor.ok()) << DTypeName(row.dtype) << tensor.status().ToString();
    EXPECT_EQ(tensor->dtype(), row.dtype);
    ExpectGoldenValues(*tensor);
    if (!row.python_form) continue;
    OwnedMessage written(tp::Descriptor());
    ASSERT_TRUE(
        TensorToProto(*tensor, written.get(), {.as_1_15 = GetParam() == std::string_view("1.15")})
            .ok());
    EXPECT_EQ(*Serialize(*written), row.proto)
        << DTypeName(row.dtype) << " " << tensor->shape().ToString() << "\n"
        << *PrintText(*written);
  }
}

INSTANTIATE_TEST_SUITE_P(Releases, GoldenTensorProtoTest, ::testing::Values("1.15", "2.21"),
                         [](const auto& info) {
                           return std::string(info.param) == "1.15" ? "R1_15" : "R2_21";
                         });

Result<Tensor> Read(std::string_view text, const TensorReadOptions& options = {}) {
  Result<OwnedMessage> message = ParseText(tp::Descriptor(), text);
  EXPECT_TRUE(message.ok()) << message.status().ToString();
  return TensorFromProto(**message, options);
}

std::string Refusal(std::string_view text, Code code = Code::kInvalidArgument) {
  const Status status = Read(text).status();
  EXPECT_EQ(status.code(), code) << text;
  return std::string(status.message());
}

TEST(TensorProtoTest, ShortListsRepeatTheirLastValue) {
  EXPECT_EQ(Read("dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: [1, 2]")->ToString(),
            "float32[3] 1 2 2");
  EXPECT_EQ(Read("dtype: DT_INT32 tensor_shape { dim { size: 3 } }")->ToString(), "int32[3] 0 0 0");
  EXPECT_EQ(Read("dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'a'")
                ->flat<std::string>()[1],
            "a");
  EXPECT_EQ(Read("dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: [1, 2]")
                ->flat<std::complex<float>>()[1],
            std::complex<float>(1, 2));
  EXPECT_EQ(Read("dtype: DT_INT8 int_val: -3")->scalar<int8_t>(), -3);
  EXPECT_EQ(static_cast<float>(Read("dtype: DT_HALF half_val: 0x4200")->scalar<Half>()), 3.0f);
}

TEST(TensorProtoTest, ContentOfStringsAndBools) {
  const Result<Tensor> strings =
      Read("dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001\\002abb'");
  ASSERT_TRUE(strings.ok()) << strings.status().ToString();
  EXPECT_EQ(strings->flat<std::string>()[0], "a");
  EXPECT_EQ(strings->flat<std::string>()[1], "bb");
  const Result<Tensor> bools =
      Read("dtype: DT_BOOL tensor_shape { dim { size: 2 } } tensor_content: '\\000\\377'");
  ASSERT_TRUE(bools.ok());
  EXPECT_EQ(*static_cast<const uint8_t*>(bools->raw_data()), 0);
  EXPECT_EQ(static_cast<const uint8_t*>(bools->raw_data())[1], 1);
}

TEST(TensorProtoTest, MalformedMessagesAreRefused) {
  EXPECT_THAT(Refusal(""), HasSubstr("dtype 0 is no element type"));
  EXPECT_THAT(Refusal("dtype: 101"), HasSubstr("dtype 101 is no element type"));
  EXPECT_THAT(Refusal("dtype: 4242"), HasSubstr("no element type"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"),
              HasSubstr("must be fully known, got <unknown>"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }"),
              HasSubstr("must be fully known, got [?]"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT tensor_shape { dim { size: -2 } }"),
              HasSubstr("got -2 in shape"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT tensor_shape { dim { size: 0x7fffffffffffffff } dim { "
                      "size: 3 } }"),
              HasSubstr("more elements than a 64-bit number"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abcd'"),
              HasSubstr("tensor_content has 4 bytes, a tensor of type float32 and shape [2] has 2 "
                        "elements of 4 bytes"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT tensor_content: 'abc'"), HasSubstr("has 3 bytes"));
  EXPECT_THAT(Refusal("dtype: DT_RESOURCE tensor_content: 'abcd'"),
              HasSubstr("of type resource has no tensor_content"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT float_val: [1, 2]"),
              HasSubstr("there are 2 values, more than shape [] has"));
  EXPECT_THAT(Refusal("dtype: DT_FLOAT int_val: 1"),
              HasSubstr("values of type float32 belong into field float_val, found int_val"));
  EXPECT_THAT(Refusal("dtype: DT_COMPLEX64 scomplex_val: [1, 2, 3]"),
              HasSubstr("scomplex_val has 3 numbers, no multiple of 2"));
  EXPECT_THAT(Refusal("dtype: DT_STRING tensor_content: '\\003ab'"),
              HasSubstr("has 2 bytes of strings, their lengths add up to 3"));
  EXPECT_THAT(Refusal("dtype: DT_STRING tensor_content: '\\377\\377\\377\\377\\377\\377'"),
              HasSubstr("damaged in the length of string 0"));
  EXPECT_THAT(Refusal("dtype: DT_STRING tensor_shape { dim { size: 9 } } tensor_content: 'abc'"),
              HasSubstr("cannot hold 9 strings"));
}

TEST(TensorProtoTest, HugeClaimsAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_THAT(Refusal("dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } } float_val: 1",
                      Code::kResourceExhausted),
              HasSubstr("claims 1099511627775 elements of type float32 without giving them"));
  Refusal("dtype: DT_STRING tensor_shape { dim { size: 1099511627776 } }",
          Code::kResourceExhausted);
  Refusal("dtype: DT_INT8 tensor_shape { dim { size: 0x7fffffffffffffff } }",
          Code::kResourceExhausted);
  // A dimension of zero claims nothing.
  EXPECT_TRUE(Read("dtype: DT_INT8 tensor_shape { dim { size: 1099511627776 } dim { } }").ok());
}

// One string said once, and a shape of many.
TEST(TensorProtoTest, ClaimedStringsCountWithTheirBytes) {
  const std::string text = StrCat("dtype: DT_STRING tensor_shape { dim { size: 1048576 } } ",
                                  "string_val: '", std::string(1024, 'a'), "'");
  EXPECT_THAT(Refusal(text, Code::kResourceExhausted),
              HasSubstr("claims 1048575 elements of type string without giving them, 1057 bytes"));
  size_t budget = 3000;
  const std::string few = StrCat("dtype: DT_STRING tensor_shape { dim { size: 3 } } ",
                                 "string_val: '", std::string(1000, 'a'), "'");
  EXPECT_TRUE(Read(few, {.claim_budget = &budget}).ok());
  EXPECT_EQ(budget, 3000u - 2 * (sizeof(std::string) + 1001));
  EXPECT_EQ(Read(few, {.claim_budget = &budget}).status().code(), Code::kResourceExhausted);
  // With an allocator, all strings count against its limit.
  const AllocatorPtr allocator = MakeCpuAllocator(1 << 20);
  const Result<Tensor> read = Read(few, {.allocator = allocator.get()});
  ASSERT_TRUE(read.ok());
  EXPECT_GE(allocator->Stats().bytes_in_use, 3 * 1001);
  EXPECT_EQ(Read(StrCat("dtype: DT_STRING tensor_shape { } string_val: '",
                        std::string(1 << 20, 'a'), "'"),
                 {.allocator = allocator.get()})
                .status()
                .code(),
            Code::kResourceExhausted);
}

TEST(TensorProtoTest, OneBudgetServesManyTensors) {
  size_t budget = 100;
  const std::string text = "dtype: DT_FLOAT tensor_shape { dim { size: 11 } } float_val: 1";
  EXPECT_TRUE(Read(text, {.claim_budget = &budget}).ok());
  EXPECT_EQ(budget, 60u);
  EXPECT_TRUE(Read(text, {.claim_budget = &budget}).ok());
  EXPECT_EQ(Read(text, {.claim_budget = &budget}).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(budget, 20u);
}

// Written and read again, all types keep their bits.
TEST(TensorProtoTest, EveryPlainTypeRoundTrips) {
  std::mt19937 random(7);
  for (int number = 1; number < kNumDTypes; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (!IsPlain(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 2}, Shape{0, 2}}) {
      for (bool as_1_15 : {false, true}) {
        Result<Tensor> tensor = Tensor::AllocateHost(dtype, shape);
        auto* bytes = static_cast<uint8_t*>(tensor->mutable_raw_data());
        for (size_t i = 0; i < tensor->bytes(); ++i) {
          bytes[i] = static_cast<uint8_t>(random()) & (dtype == DType::kBool ? 1 : 255);
        }
        OwnedMessage message(tp::Descriptor());
        ASSERT_TRUE(TensorToProto(*tensor, message.get(), {.as_1_15 = as_1_15}).ok());
        Result<OwnedMessage> parsed = ParseMessage(tp::Descriptor(), *Serialize(*message));
        Result<Tensor> again = TensorFromProto(**parsed);
        ASSERT_TRUE(again.ok()) << again.status().ToString();
        ASSERT_EQ(again->dtype(), dtype);
        ASSERT_EQ(again->shape(), shape);
        EXPECT_EQ(std::memcmp(again->raw_data(), tensor->raw_data(), tensor->bytes()), 0)
            << DTypeName(dtype);
      }
    }
  }
}

TEST(TensorProtoTest, HandlesAndVariantsRoundTrip) {
  const std::string handle =
      "dtype: DT_RESOURCE tensor_shape { dim { size: 1 } } resource_handle_val { device: '/cpu:0' "
      "container: 'c' name: 'v' hash_code: 7 maybe_type_name: 'Var' }";
  Result<Tensor> tensor = Read(handle);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->scalar<ResourceHandle>().place()->name, "v");
  EXPECT_EQ(tensor->scalar<ResourceHandle>().resource(), nullptr);
  const std::string variant =
      "dtype: DT_VARIANT tensor_shape { dim { size: 2 } } variant_val { type_name: 'T' metadata: "
      "'m' tensors { dtype: DT_INT32 tensor_shape { } int_val: 1 } } variant_val { }";
  for (const std::string& text : {handle, variant}) {
    OwnedMessage message(tp::Descriptor());
    ASSERT_TRUE(TensorToProto(*Read(text), message.get()).ok());
    EXPECT_TRUE(message->Equals(**ParseText(tp::Descriptor(), text))) << *PrintText(*message);
  }
  EXPECT_EQ(Read(variant)->flat<Variant>()[0].As<OpaqueVariant>()->TypeName(), "T");
  EXPECT_EQ(Read(variant)->flat<Variant>()[1].get(), nullptr);
}

class LocalVariant : public VariantValue {
 public:
  std::string TypeName() const override { return "Local"; }
  std::string DebugString() const override { return "Local"; }
};

TEST(TensorProtoTest, WhatHasNoWireFormIsRefused) {
  OwnedMessage message(tp::Descriptor());
  EXPECT_EQ(TensorToProto(Tensor(), message.get()).code(), Code::kInvalidArgument);
  const Tensor variant = Tensor::Scalar(Variant(std::make_shared<const LocalVariant>()));
  OwnedMessage other(tp::Descriptor());
  EXPECT_EQ(TensorToProto(variant, other.get()).message(),
            "a variant of type Local has no wire form");
}

TEST(TensorProtoTest, Shapes) {
  for (const PartialShape& shape :
       {PartialShape(), PartialShape(Shape()), PartialShape{-1, 0, 5}}) {
    OwnedMessage message(pb::TensorShapeProto::Descriptor());
    ShapeToProto(shape, message.get());
    EXPECT_EQ(*PartialShapeFromProto(*message), shape);
  }
  Result<OwnedMessage> odd =
      ParseText(pb::TensorShapeProto::Descriptor(), "unknown_rank: true dim { size: 2 }");
  EXPECT_FALSE(PartialShapeFromProto(**odd).ok());
}

}  // namespace
}  // namespace thalweg
