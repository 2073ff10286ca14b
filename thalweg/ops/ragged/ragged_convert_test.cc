// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const Tensor kRows = Numbers<int64_t>({0, 2, 2, 5});
const Tensor kWords = Texts({"a", "b", "c", "d", "e"});
const Tensor kFive = Numbers<int32_t>({1, 2, 3, 4, 5});
const Tensor kOpen = Numbers<int64_t>({-1, -1});
const Tensor kNine = Tensor::Scalar<int32_t>(9);

AttrMap By(std::vector<std::string> types) { return {{"row_partition_types", std::move(types)}}; }

TEST(RaggedConvertTest, ToSparse) {
  ExpectOutputs("RaggedTensorToSparse", {kRows, kWords}, {},
                {Numbers<int64_t>({0, 0, 0, 1, 2, 0, 2, 1, 2, 2}, Shape{5, 2}), kWords,
                 Numbers<int64_t>({3, 3})});
  ExpectOutputs("RaggedTensorToSparse", {Numbers<int64_t>({0, 1, 3}), kRows, kWords}, {},
                {Numbers<int64_t>({0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2}, Shape{5, 3}),
                 kWords, Numbers<int64_t>({2, 2, 3})});
  ExpectOutputs("RaggedTensorToSparse",
                {Numbers<int32_t>({0, 0, 1}), Numbers<float>({7, 8}, Shape{1, 2})}, {},
                {Numbers<int64_t>({1, 0, 0, 1, 0, 1}, Shape{2, 3}), Numbers<float>({7, 8}),
                 Numbers<int64_t>({2, 1, 2})});
  ExpectOutputs("RaggedTensorToSparse", {Numbers<int64_t>({0}), Texts({})}, {},
                {Numbers<int64_t>({}, Shape{0, 2}), Texts({}), Numbers<int64_t>({0, 0})});
}

TEST(RaggedConvertTest, ToSparseOfValuesOfNoElements) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  ExpectOutputs(
      "RaggedTensorToSparse",
      {Numbers<int64_t>({0, kHuge}), *Tensor::AllocateHost(DType::kFloat, Shape{kHuge, 0})}, {},
      {Numbers<int64_t>({}, Shape{0, 3}), Numbers<float>({}), Numbers<int64_t>({1, kHuge, 0})});
}

TEST(RaggedConvertTest, ToSparseErrors) {
  const auto bad = [](const Tensor& splits, std::string_view words) {
    ExpectError("RaggedTensorToSparse", {splits, kWords}, {}, Code::kInvalidArgument, words);
  };
  bad(Numbers<int64_t>({1, 5}), "begin with 0");
  bad(Numbers<int64_t>({0, 4}), "of 5 values");
  bad(Numbers<int64_t>({0, 3, 1, 5}), "go down");
  bad(Numbers<int64_t>({}), "one element at least");
  bad(Tensor::Scalar<int64_t>(0), "");
  ExpectError("RaggedTensorToSparse", {Numbers<int64_t>({0, 1}), Tensor::Scalar(1.0f)}, {},
              Code::kInvalidArgument, "");
}

TEST(RaggedConvertTest, ToSparseGradient) {
  OpCase("RaggedTensorToSparse")
      .Types({{"T", DType::kDouble}, {"Tsplits", DType::kInt64}})
      .Reference([](RefCall<double>& r) {
        r.out = {{Shape{4, 3}, {0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1}},
                 {Shape{4}, r.in[1].values},
                 {Shape{3}, {1, 2, 2}}};
      })
      .GradInputs({1})
      .GradOutputs({1})
      .ShapesFromValues("how long the rows are")
      .Trivial("the values stay as they are")
      .Try({In(Numbers<int64_t>({0, 2})), In({2, 2})})
      .Run();
}

TEST(RaggedConvertTest, ToTensor) {
  const auto expect = [](const Tensor& shape, const std::vector<Tensor>& parts,
                         std::vector<std::string> types, const Tensor& result) {
    std::vector<Tensor> inputs = {shape, kFive, kNine};
    inputs.insert(inputs.end(), parts.begin(), parts.end());
    ExpectOutputs("RaggedTensorToTensor", inputs, By(std::move(types)), {result});
  };
  expect(kOpen, {kRows}, {"ROW_SPLITS"},
         Numbers<int32_t>({1, 2, 9, 9, 9, 9, 3, 4, 5}, Shape{3, 3}));
  expect(Numbers<int64_t>({2, 1}), {kRows}, {"ROW_SPLITS"}, Numbers<int32_t>({1, 9}, Shape{2, 1}));
  expect(Numbers<int64_t>({5, -1}), {Tensor::Scalar<int64_t>(4), Numbers<int64_t>({0, 0, 2, 2, 2})},
         {"FIRST_DIM_SIZE", "VALUE_ROWIDS"},
         Numbers<int32_t>({1, 2, 9, 9, 9, 9, 3, 4, 5, 9, 9, 9, 9, 9, 9}, Shape{5, 3}));
  expect(Tensor::Scalar<int64_t>(-1), {Numbers<int64_t>({0, 1, 3}), kRows},
         {"ROW_SPLITS", "ROW_SPLITS"},
         Numbers<int32_t>({1, 2, 9, 9, 9, 9, 9, 9, 9, 3, 4, 5}, Shape{2, 2, 3}));
}

TEST(RaggedConvertTest, ToTensorErrors) {
  const auto bad = [](const Tensor& shape, const Tensor& other, const std::vector<Tensor>& parts,
                      std::vector<std::string> types, std::string_view words) {
    std::vector<Tensor> inputs = {shape, kFive, other};
    inputs.insert(inputs.end(), parts.begin(), parts.end());
    ExpectError("RaggedTensorToTensor", inputs, By(std::move(types)), Code::kInvalidArgument,
                words);
  };
  const auto ids = [](std::vector<int64_t> values) { return Numbers<int64_t>(values); };
  const Tensor three = Tensor::Scalar<int64_t>(3);
  bad(ids({-1}), kNine, {kRows}, {"ROW_SPLITS"}, "");
  bad(ids({}), kNine, {kRows}, {"ROW_SPLITS"}, "cannot have shape []");
  bad(Numbers<int64_t>({-1, -1}, Shape{1, 2}), kNine, {kRows}, {"ROW_SPLITS"},
      "Shape must be at most rank 1 but is rank 2 for ");
  bad(ids({-2, -1}), kNine, {kRows}, {"ROW_SPLITS"}, "-2");
  bad(kOpen, Numbers<int32_t>({9, 9}), {kRows}, {"ROW_SPLITS"},
      "default_value.shape=[2] and rt_input.flat_values.shape=[5] are incompatible");
  bad(kOpen, kNine, {kRows}, {"BOGUS"}, "BOGUS");
  bad(kOpen, kNine, {ids({0, 2, 7})}, {"ROW_SPLITS"}, "for 7 values, got 5");
  bad(kOpen, kNine, {ids({0, 3, 2, 5})}, {"ROW_SPLITS"}, "go down");
  bad(kOpen, kNine, {ids({1, 5})}, {"ROW_SPLITS"}, "begin with 0");
  bad(kOpen, kNine, {ids({0, 0, 1, 1, 1})}, {"VALUE_ROWIDS"}, "first row partition");
  bad(kOpen, kNine, {three, ids({0, 0, 2, 3, 3})}, {"FIRST_DIM_SIZE", "VALUE_ROWIDS"},
      "less than 3");
  bad(kOpen, kNine, {three, ids({0, 0, 2, 1, 2})}, {"FIRST_DIM_SIZE", "VALUE_ROWIDS"},
      "at least 2");
  bad(kOpen, kNine, {three, ids({0, 0, 2})}, {"FIRST_DIM_SIZE", "VALUE_ROWIDS"},
      "for 3 values, got 5");
  bad(ids({int64_t{1} << 40, int64_t{1} << 40}), kNine, {kRows}, {"ROW_SPLITS"}, "");
}

TEST(RaggedConvertTest, ToTensorGradient) {
  OpCase("RaggedTensorToTensor")
      .Types({{"T", DType::kDouble}, {"Tindex", DType::kInt64}, {"Tshape", DType::kInt64}})
      .Reference([](RefCall<double>& r) {
        const auto &v = r.in[1], &d = r.in[2];
        const bool scalar = d.shape.rank() == 0;
        std::vector<double> out;
        for (const int64_t i : {0, 1, -1, -1, 2, 3}) {  // 3 rows of 2
          for (int64_t k = 0; k < 2; ++k) {
            out.push_back(i < 0 ? d[scalar ? 0 : k] : v[2 * i + k]);
          }
        }
        r.out = {{Shape{3, 2, 2}, out}};
      })
      .GradInputs({1, 2})
      .ShapesFromValues("how long the rows are")
      .Try({In(Numbers<int64_t>({-1, 2, 2})), In({5, 2}), In({2}), In(kRows)}, By({"ROW_SPLITS"}))
      .Try({In(Numbers<int64_t>({-1, 2, -1})), In({5, 2}), In({}), In(kRows)}, By({"ROW_SPLITS"}))
      .Run();
}

}  // namespace
}  // namespace thalweg
