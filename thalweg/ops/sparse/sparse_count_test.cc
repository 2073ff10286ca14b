// SPDX-License-Identifier: Apache-2.0
// Expected values as TensorFlow 2.21 gives them.
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

AttrMap Rules(int64_t min_length = -1, int64_t max_length = -1, bool binary = false) {
  return {{"minlength", min_length}, {"maxlength", max_length}, {"binary_output", binary}};
}

const Tensor kMatrix = Numbers<int64_t>({1, 1, 3, 0, 2, 2}, Shape{2, 3});
const Tensor kCounted = Numbers<int64_t>({0, 1, 0, 3, 1, 0, 1, 2}, Shape{4, 2});
const Tensor kNoWeights = Numbers<int64_t>({});

TEST(SparseCountTest, CountsRowsOfAMatrix) {
  const Tensor twos = Numbers<int64_t>({2, 1, 1, 2}), ones = Numbers<int64_t>({1, 1, 1, 1});
  const std::string op = "DenseCountSparseOutput";
  ExpectOutputs(op, {kMatrix, kNoWeights}, Rules(), {kCounted, twos, Numbers<int64_t>({2, 4})});
  ExpectOutputs(op, {kMatrix, kNoWeights}, Rules(7), {kCounted, twos, Numbers<int64_t>({2, 7})});
  ExpectOutputs(op, {kMatrix, kNoWeights}, Rules(-1, -1, true),
                {kCounted, ones, Numbers<int64_t>({2, 4})});
  ExpectOutputs(op, {kMatrix, kNoWeights}, Rules(5, 2),
                {Numbers<int64_t>({0, 1, 1, 0}, Shape{2, 2}), Numbers<int64_t>({2, 1}),
                 Numbers<int64_t>({2, 2})});
  ExpectOutputs(op, {kMatrix, Numbers<double>({.5, .25, 2, 1, 1, 1}, Shape{2, 3})}, Rules(),
                {kCounted, Numbers<double>({.75, 2, 1, 2}), Numbers<int64_t>({2, 4})});
}

TEST(SparseCountTest, CountsAVector) {
  const Tensor values = Numbers<int32_t>({1, 1, 3});
  ExpectOutputs(
      "DenseCountSparseOutput", {values, Numbers<float>({.5, .25, 2})}, Rules(-1, 10),
      {Numbers<int64_t>({1, 3}, Shape{2, 1}), Numbers<float>({.75, 2}), Numbers<int64_t>({10})});
  ExpectOutputs("DenseCountSparseOutput", {kNoWeights, kNoWeights}, Rules(),
                {Numbers<int64_t>({}, Shape{0, 1}), kNoWeights, Numbers<int64_t>({1})});
}

TEST(SparseCountTest, CountsRowsOfARaggedTensor) {
  const Tensor splits = Numbers<int64_t>({0, 2, 2, 5}), values = Numbers<int32_t>({1, 2, 2, 2, 9});
  const Tensor none = Numbers<float>({});
  const Tensor places = Numbers<int64_t>({0, 1, 0, 2, 2, 2, 2, 9}, Shape{4, 2});
  const std::string op = "RaggedCountSparseOutput";
  ExpectOutputs(op, {splits, values, none}, Rules(),
                {places, Numbers<float>({1, 1, 2, 1}), Numbers<int64_t>({3, 10})});
  ExpectOutputs(op, {splits, values, none}, Rules(-1, -1, true),
                {places, Numbers<float>({1, 1, 1, 1}), Numbers<int64_t>({3, 10})});
  ExpectOutputs(op, {splits, values, Numbers<float>({.5, 1, 2, 3, 4})}, Rules(4, 6),
                {Numbers<int64_t>({0, 1, 0, 2, 2, 2}, Shape{3, 2}), Numbers<float>({.5, 1, 5}),
                 Numbers<int64_t>({3, 6})});
  const auto bad = [&](const Tensor& s, const Tensor& v, const Tensor& w, std::string_view words) {
    ExpectError(op, {s, v, w}, Rules(), Code::kInvalidArgument, words);
  };
  bad(Numbers<int64_t>({}), values, none, "at least 2 elements");
  bad(Numbers<int64_t>({0}), values, none, "at least 2 elements");
  bad(Numbers<int64_t>({1, 5}), values, none, "begin with 0");
  bad(Numbers<int64_t>({0, 6}), values, none, "row splits end at 6, of 5 values");
  bad(Numbers<int64_t>({0, 3, 1, 5}), values, none, "go down");
  bad(splits, Numbers<int32_t>({1, 2, -2, 2, 9}), none, "non-negative");
  bad(splits, values, Numbers<float>({1}), "same shape");
}

TEST(SparseCountTest, CountsRowsOfASparseTensor) {
  const Tensor places = Numbers<int64_t>({2, 3, 2, 0, 0, 1}, Shape{3, 2});  // in no order
  const Tensor values = Numbers<int64_t>({5, 5, 1}), shape = Numbers<int64_t>({3, 4});
  const std::string op = "SparseCountSparseOutput";
  ExpectOutputs(op, {places, values, shape, kNoWeights}, Rules(),
                {Numbers<int64_t>({0, 1, 2, 5}, Shape{2, 2}), Numbers<int64_t>({1, 2}),
                 Numbers<int64_t>({3, 6})});
  ExpectOutputs(
      op, {places, values, shape, Numbers<float>({2, 1, .5})}, Rules(-1, 4),
      {Numbers<int64_t>({0, 1}, Shape{1, 2}), Numbers<float>({.5}), Numbers<int64_t>({3, 4})});
  ExpectOutputs(op,
                {Numbers<int64_t>({0, 2}, Shape{2, 1}), Numbers<int64_t>({4, 4}),
                 Numbers<int64_t>({3}), kNoWeights},
                Rules(),
                {Numbers<int64_t>({4}, Shape{1, 1}), Numbers<int64_t>({2}), Numbers<int64_t>({5})});
}

TEST(SparseCountTest, RefusesWhatCannotBeCounted) {
  const auto refuse = [](const std::string& op, const std::vector<Tensor>& inputs) {
    ExpectError(op, inputs, Rules(), Code::kInvalidArgument, "");
  };
  refuse("DenseCountSparseOutput", {Numbers<int64_t>({1, -1}), kNoWeights});
  refuse("DenseCountSparseOutput", {Tensor::Scalar(int64_t{3}), kNoWeights});
  refuse("DenseCountSparseOutput", {Numbers<int64_t>({1}, Shape{1, 1, 1}), kNoWeights});
  refuse("DenseCountSparseOutput", {Numbers<int64_t>({1, 2}), Numbers<float>({1})});
  refuse("DenseCountSparseOutput", {Numbers<int64_t>({INT64_MAX}), kNoWeights});
  const Tensor place = Numbers<int64_t>({0, 0}, Shape{1, 2}), one = Numbers<int64_t>({1});
  const Tensor shape = Numbers<int64_t>({1, 2});
  refuse("SparseCountSparseOutput", {place, Numbers<int64_t>({-1}), shape, kNoWeights});
  refuse("SparseCountSparseOutput", {place, one, Numbers<int64_t>({0, 0}), kNoWeights});
  refuse("SparseCountSparseOutput", {place, one, shape, Numbers<float>({1, 2})});
  refuse("SparseCountSparseOutput",
         {Numbers<int64_t>({0, 5}, Shape{1, 2}), one, shape, kNoWeights});
  refuse("SparseCountSparseOutput",
         {Numbers<int64_t>({}, Shape{1, 0}), one, kNoWeights, kNoWeights});
}

}  // namespace
}  // namespace thalweg
