// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/variant_wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/proto/wire.h"
#include "thalweg/resources/held_tensor.h"
#include "thalweg/resources/ragged_value.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace vt = pb::VariantTensorDataProto;

// A variant as it is after it went through a message.
Result<Variant> Sent(const Variant& variant, size_t budget = kMaxClaimedBytes) {
  ASSIGN_OR_RETURN(const Tensor forms, WithWireForms(Tensor::Scalar(variant)));
  OwnedMessage message(pb::TensorProto::Descriptor());
  RETURN_IF_ERROR(TensorToProto(forms, message.get()));
  ASSIGN_OR_RETURN(const Tensor read, TensorFromProto(*message));
  ASSIGN_OR_RETURN(const Tensor value, FromWireForms(read, &budget));
  return value.scalar<Variant>();
}

Variant Rows(DType splits_type, std::vector<Splits> splits, Tensor values) {
  return RaggedValue::Make(splits_type, std::move(splits), std::move(values)).value();
}

Tensor Numbers(const std::vector<int64_t>& numbers) {
  Tensor tensor =
      Tensor::AllocateHost(DType::kInt64, Shape{static_cast<int64_t>(numbers.size())}).value();
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data<int64_t>());
  return tensor;
}

TEST(VariantWireTest, RaggedTensorsComeBack) {
  const std::vector<Splits> splits = {{0, 1, 1, 3}, {0, 2, 2, 3}};
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    const Result<Variant> sent = Sent(Rows(type, splits, Numbers({5, 6, 7})));
    ASSERT_TRUE(sent.ok()) << sent.status().ToString();
    const auto* const rows = sent->As<RaggedValue>();
    ASSERT_NE(rows, nullptr);
    EXPECT_EQ(rows->splits_type(), type);
    EXPECT_EQ(rows->splits(), splits);
    EXPECT_EQ(rows->values().flat<int64_t>()[2], 7);
  }
}

TEST(VariantWireTest, TensorsInsideOneAnotherComeBack) {
  Variant inner, outer;
  ASSERT_TRUE(HoldTensor(Tensor::Scalar(std::string("text")), &inner).ok());
  ASSERT_TRUE(HoldTensor(Tensor::Scalar(inner), &outer).ok());
  const Result<Variant> sent = Sent(outer);
  ASSERT_TRUE(sent.ok()) << sent.status().ToString();
  const Variant& found = sent->As<HeldTensor>()->tensor().scalar<Variant>();
  EXPECT_EQ(found.As<HeldTensor>()->tensor().scalar<std::string>(), "text");
  const Result<Variant> nothing = Sent(Variant());
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->get(), nullptr);
}

// The error of bytes that name a type and hold these tensors.
std::string ErrorOf(std::string_view type, const std::vector<Tensor>& tensors) {
  OwnedMessage message(vt::Descriptor());
  message->SetString(vt::kTypeName, type);
  for (const Tensor& tensor : tensors) {
    EXPECT_TRUE(TensorToProto(tensor, message->Add(vt::kTensors)).ok());
  }
  const Variant bytes(
      std::make_shared<const OpaqueVariant>(std::string(type), Serialize(*message).value()));
  const Result<Variant> sent = Sent(bytes);
  return sent.ok() ? "" : sent.status().ToString();
}

TEST(VariantWireTest, WhatIsNoSuchValueIsRefused) {
  EXPECT_NE(ErrorOf("tensorflow::Tensor", {}).find("must not have 0 tensors"), std::string::npos);
  EXPECT_NE(ErrorOf("tensorflow::Tensor", {Numbers({1}), Numbers({2})}).find("2 tensors"),
            std::string::npos);
  EXPECT_NE(ErrorOf("RaggedTensorVariant", {Numbers({0, 2}), Tensor::Scalar(int64_t{1})})
                .find("must not be a scalar"),
            std::string::npos);
  EXPECT_NE(ErrorOf("RaggedTensorVariant", {Numbers({0, 9}), Numbers({1, 2})}), "");
  EXPECT_NE(ErrorOf("RaggedTensorVariant", {Numbers({}), Numbers({1, 2})}), "");
  EXPECT_NE(ErrorOf("RaggedTensorVariant", {Numbers({0, 2, 1, 2}), Numbers({1, 2})}), "");
  EXPECT_EQ(ErrorOf("RaggedTensorVariant", {Numbers({0, 0, 2}), Numbers({1, 2})}), "");
  EXPECT_EQ(ErrorOf("AnotherClass", {}), "");  // kept as it is
}

}  // namespace
}  // namespace thalweg
