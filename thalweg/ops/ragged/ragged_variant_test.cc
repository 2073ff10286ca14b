// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const Tensor kVariantRows = Numbers<int64_t>({0, 2, 2, 5});
const Tensor kRowsOfRows = Numbers<int64_t>({0, 1, 3});
const Tensor kFiveValues = Numbers<int32_t>({1, 2, 3, 4, 5});

Tensor Encoded(std::vector<Tensor> inputs, bool batched) {
  const auto ranks = static_cast<int64_t>(inputs.size()) - 1;
  auto made =
      RunOp("RaggedTensorToVariant", inputs, {{"RAGGED_RANK", ranks}, {"batched_input", batched}});
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return made.ok() ? (*made)[0] : Tensor();
}

AttrMap Ranks(int64_t in, int64_t out, DType values = DType::kInt32, DType splits = DType::kInt64) {
  return {{"input_ragged_rank", in},
          {"output_ragged_rank", out},
          {"Tvalues", values},
          {"Tsplits", splits}};
}

TEST(RaggedVariantTest, ThereAndBack) {
  const std::string op = "RaggedTensorFromVariant";
  const std::vector<Tensor> two = {kRowsOfRows, kVariantRows, kFiveValues};
  ExpectOutputs(op, {Encoded({kVariantRows, kFiveValues}, false)}, Ranks(1, 1),
                {kVariantRows, kFiveValues});
  ExpectOutputs(op, {Encoded({kVariantRows, kFiveValues}, true)}, Ranks(-1, 1),
                {kVariantRows, kFiveValues});
  ExpectOutputs(op, {Encoded({kVariantRows, kFiveValues}, true)}, Ranks(0, 1),
                {kVariantRows, kFiveValues});
  ExpectOutputs(op, {Encoded(two, true)}, Ranks(1, 2), two);
  ExpectOutputs(op, {Encoded(two, false)}, Ranks(2, 2), two);
  ExpectOutputs(op, {Encoded({kFiveValues}, false)}, Ranks(0, 0), {kFiveValues});
  EXPECT_EQ(Encoded({kFiveValues}, true).shape(), Shape({5}));
  const Tensor four = Encoded({Numbers<int64_t>({0, 2, 2, 4, 5}), kFiveValues}, true);
  ExpectOutputs(op, {*four.Reshaped(Shape{2, 2})}, Ranks(0, 2),
                {Numbers<int64_t>({0, 2, 4}), Numbers<int64_t>({0, 2, 2, 4, 5}), kFiveValues});
  const Tensor pairs = Numbers<int32_t>({1, 2, 3, 4, 5, 6}, Shape{3, 2});
  const Tensor splits = Numbers<int32_t>({0, 1, 3});
  ExpectOutputs(op, {Encoded({splits, pairs}, true)}, Ranks(0, 1, DType::kInt32, DType::kInt32),
                {splits, pairs});
}

TEST(RaggedVariantTest, MoreRowsThanMemoryHolds) {
  const Tensor values = *Tensor::AllocateHost(DType::kInt32, Shape{int64_t{1} << 60, 0});
  ExpectError("RaggedTensorToVariant", {values},
              {{"RAGGED_RANK", int64_t{0}}, {"batched_input", true}}, Code::kResourceExhausted, "");
  const Tensor whole = Encoded({Numbers<int64_t>({0, int64_t{1} << 60}), values}, false);
  Tensor many = *Tensor::AllocateHost(DType::kVariant, Shape{16});
  for (int64_t i = 0; i < 16; ++i) many.mutable_data<Variant>()[i] = whole.scalar<Variant>();
  ExpectError("RaggedTensorFromVariant", {many}, Ranks(1, 2), Code::kInvalidArgument, "more than");
  const Tensor none = *Tensor::AllocateHost(DType::kVariant, Shape{int64_t{1} << 60, 0});
  ExpectError("RaggedTensorFromVariant", {none}, Ranks(0, 2), Code::kResourceExhausted, "");
}

TEST(RaggedVariantTest, Errors) {
  const auto bad = [](const Tensor& encoded, const AttrMap& attrs, std::string_view words) {
    ExpectError("RaggedTensorFromVariant", {encoded}, attrs, Code::kInvalidArgument, words);
  };
  const Tensor rows = Encoded({kVariantRows, kFiveValues}, true);
  bad(rows, Ranks(0, 1, DType::kInt64), "values of type");
  bad(rows, Ranks(1, 2), "ragged_rank=0");
  bad(rows, Ranks(1, 1), "output_ragged_rank");
  bad(rows, Ranks(std::numeric_limits<int64_t>::max(), 1), "output_ragged_rank");
  bad(Encoded({kVariantRows, kFiveValues}, false), Ranks(1, 1, DType::kInt32, DType::kInt32),
      "row_splits");
  Tensor nothing = *Tensor::AllocateHost(DType::kVariant, Shape{1});
  bad(nothing, Ranks(0, 1), "nothing");
  const AttrMap one = {{"RAGGED_RANK", int64_t{1}}, {"batched_input", true}};
  ExpectError("RaggedTensorToVariant", {kVariantRows, Tensor::Scalar(1.0f)}, one,
              Code::kInvalidArgument, "Shape must be at least rank 1 but is rank 0 for ");
  for (const std::vector<int64_t>& splits :
       {std::vector<int64_t>{0, 2, 7}, {1, 2, 5}, {0, 3, 2, 5}, {}, {0, 4}}) {
    ExpectError("RaggedTensorToVariant", {Numbers<int64_t>(splits), kFiveValues}, one,
                Code::kInvalidArgument, "row splits");
  }
}

TEST(RaggedVariantTest, SumsAndZeros) {
  const Tensor values = Numbers<float>({1, 2, 3, 4, 5});
  const AttrMap attrs = Ranks(1, 1, DType::kFloat);
  const Tensor one = Encoded({kRows, values}, false);
  const auto decoded = [&](const char* op, const std::vector<Tensor>& inputs,
                           const std::vector<float>& expected) {
    const auto made = RunOp(op, inputs);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    ExpectOutputs("RaggedTensorFromVariant", {(*made)[0]}, attrs,
                  {kRows, Numbers<float>(expected)});
  };
  decoded("AddN", {one, one}, {2, 4, 6, 8, 10});
  decoded("ZerosLike", {one}, {0, 0, 0, 0, 0});
  ExpectError("AddN", {one, Encoded({values}, false)}, {}, Code::kInvalidArgument,
              "Can't add ragged tensors");
  ExpectError("Conj", {one}, {}, Code::kUnimplemented, "RaggedTensorVariant has no CONJ");
}

TEST(RaggedVariantTest, Gradient) {
  const AttrMap attrs = {{"Tvalues", DType::kFloat}};
  const Tensor values = Numbers<float>({1, 2, 3, 4, 5}), shape = Numbers<int32_t>({5});
  ExpectOutputs("RaggedTensorToVariantGradient",
                {Encoded({kVariantRows, values}, true), kVariantRows, shape}, attrs, {values});
  const Tensor none = Numbers<int64_t>({});
  ExpectOutputs("RaggedTensorToVariantGradient", {Encoded({values}, true), none, shape}, attrs,
                {values});
  ExpectError("RaggedTensorToVariantGradient",
              {Encoded({kVariantRows, values}, true), kVariantRows, Numbers<int32_t>({6})}, attrs,
              Code::kInvalidArgument, "for values of shape");
  ExpectError("RaggedTensorToVariantGradient",
              {Encoded({kVariantRows, kFiveValues}, true), kVariantRows, shape}, attrs,
              Code::kInvalidArgument, "must hold ragged tensors");
  ExpectError(
      "RaggedTensorToVariantGradient",
      {Encoded({kVariantRows, values}, true), kVariantRows, Numbers<int32_t>({5}, Shape{1, 1})},
      attrs, Code::kInvalidArgument, "Shape must be at most rank 1 but is rank 2 for ");
  for (const std::vector<int64_t>& splits : {std::vector<int64_t>{1, 2, 5}, {0, 3, 2, 5}}) {
    ExpectError("RaggedTensorToVariantGradient",
                {Encoded({kVariantRows, values}, true), Numbers<int64_t>(splits), shape}, attrs,
                Code::kInvalidArgument, "row splits");
  }
}

}  // namespace
}  // namespace thalweg
