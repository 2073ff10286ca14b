// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

AttrMap Ranks(int64_t out) { return {{"OUTPUT_RAGGED_RANK", out}}; }
const Tensor kGatherRows = Numbers<int64_t>({0, 2, 2, 5});
const Tensor kGatherWords = Texts({"a", "b", "c", "d", "e"});

TEST(RaggedGatherTest, Rows) {
  ExpectOutputs("RaggedGather", {kGatherRows, kGatherWords, Numbers<int32_t>({2, 0, 0, 1})},
                Ranks(1),
                {Numbers<int64_t>({0, 3, 5, 7, 7}), Texts({"c", "d", "e", "a", "b", "a", "b"})});
  ExpectOutputs("RaggedGather",
                {kGatherRows, kGatherWords, Numbers<int32_t>({2, 0, 1, 1}, Shape{2, 2})}, Ranks(2),
                {Numbers<int64_t>({0, 2, 4}), Numbers<int64_t>({0, 3, 5, 5, 5}),
                 Texts({"c", "d", "e", "a", "b"})});
  ExpectOutputs("RaggedGather", {kGatherRows, kGatherWords, Tensor::Scalar<int64_t>(2)}, Ranks(0),
                {Texts({"c", "d", "e"})});
  ExpectOutputs("RaggedGather", {kGatherRows, kGatherWords, Numbers<int32_t>({})}, Ranks(1),
                {Numbers<int64_t>({0}), Texts({})});
  ExpectOutputs("RaggedGather", {Numbers<int32_t>({1, 2, 3}), kGatherWords, Numbers<int32_t>({0})},
                Ranks(1), {Numbers<int32_t>({0, 1}), Texts({"b"})});
}

TEST(RaggedGatherTest, RowsOfRows) {
  const AttrMap attrs = {{"PARAMS_RAGGED_RANK", int64_t{2}}, {"OUTPUT_RAGGED_RANK", int64_t{2}}};
  ExpectOutputs(
      "RaggedGather",
      {Numbers<int64_t>({0, 1, 3}), kGatherRows, kGatherWords, Numbers<int32_t>({1, 1, 0})}, attrs,
      {Numbers<int64_t>({0, 2, 4, 5}), Numbers<int64_t>({0, 0, 3, 3, 6, 8}),
       Texts({"c", "d", "e", "c", "d", "e", "a", "b"})});
  ExpectError("RaggedGather",
              {Numbers<int64_t>({0, 1, 9}), kGatherRows, kGatherWords, Numbers<int32_t>({1})},
              attrs, Code::kInvalidArgument, "of 3 values");
}

TEST(RaggedGatherTest, ValuesOfNoElements) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  const Tensor values = *Tensor::AllocateHost(DType::kFloat, Shape{kHuge, 0});
  ExpectOutputs("RaggedGather", {Numbers<int64_t>({0, kHuge}), values, Numbers<int32_t>({0})},
                Ranks(1), {Numbers<int64_t>({0, kHuge}), values});
}

TEST(RaggedGatherTest, Errors) {
  const auto bad = [](const Tensor& splits, const Tensor& values, const Tensor& indices,
                      int64_t out, std::string_view words) {
    ExpectError("RaggedGather", {splits, values, indices}, Ranks(out), Code::kInvalidArgument,
                words);
  };
  const Tensor first = Numbers<int32_t>({0});
  bad(kGatherRows, kGatherWords, Numbers<int32_t>({3}), 1, "is not in [0, 3)");
  bad(kGatherRows, kGatherWords, Numbers<int32_t>({-1}), 1, "is not in [0, 3)");
  bad(Numbers<int64_t>({0, 2, 1, 5}), kGatherWords, first, 1, "go down");
  bad(Numbers<int64_t>({}), kGatherWords, first, 1, "indices[0] = 0 is not in [0, -1)");
  bad(kGatherRows, kGatherWords, first, 2, "Shape must be rank 2 but is rank 1 for ");
  bad(Numbers<int64_t>({0, 2, 7}), kGatherWords, first, 1, "of 5 values");
  bad(Numbers<int64_t>({-1, 2, 5}), kGatherWords, first, 1, "begin with 0");
  bad(kGatherRows, Tensor::Scalar("a"), first, 1, "");
  bad(kGatherRows, kGatherWords, first, 3, "OUTPUT_RAGGED_RANK");
  // A million times a million rows: told before one is written.
  constexpr int64_t kMany = int64_t{1} << 20;
  const Tensor again = *Tensor::AllocateHost(DType::kInt64, Shape{kMany});
  std::fill_n(Tensor(again).mutable_data<int64_t>(), kMany, 0);
  const Tensor bytes = *Tensor::AllocateHost(DType::kInt8, Shape{kMany});
  ExpectError("RaggedGather", {Numbers<int64_t>({0, kMany}), bytes, again}, Ranks(1),
              Code::kResourceExhausted, "");
  const Tensor no_width = *Tensor::AllocateHost(DType::kFloat, Shape{int64_t{1} << 60, 0});
  bad(Numbers<int64_t>({0, int64_t{1} << 60}), no_width, again, 1, "more than");
}

TEST(RaggedGatherTest, Gradient) {
  OpCase("RaggedGather")
      .Types({{"Tvalues", DType::kDouble}, {"Tindices", DType::kInt32}, {"Tsplits", DType::kInt64}})
      .Reference([](RefCall<double>& r) {
        const auto& v = r.in[1];
        std::vector<double> picked;
        for (const int64_t i : {2, 3, 4, 0, 1, 0, 1}) {
          picked.push_back(v[2 * i]);
          picked.push_back(v[2 * i + 1]);
        }
        r.out = {{Shape{4}, {0, 3, 5, 7}}, {Shape{7, 2}, picked}};
      })
      .GradInputs({1})
      .GradOutputs({1})
      .ShapesFromValues("how long the rows are")
      .Try({In(kGatherRows), In({5, 2}), In({3}, {2, 0, 0})}, Ranks(1))
      .Run();
}

}  // namespace
}  // namespace thalweg
