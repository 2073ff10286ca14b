// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

const Tensor kPartPlaces = Numbers<int64_t>({0, 1, 1, 0, 1, 3}, Shape{3, 2});
const Tensor kPartValues = Numbers<float>({1, 2, 3});
const Tensor kPartShape = Numbers<int64_t>({2, 4});

TEST(SparsePartsTest, Concatenates) {
  const AttrMap attrs = {{"concat_dim", int64_t{-1}}};
  ExpectOutputs("SparseConcat",
                {kPartPlaces, Numbers<int64_t>({0, 0}, Shape{1, 2}), kPartValues,
                 Numbers<float>({9}), kPartShape, Numbers<int64_t>({2, 3})},
                attrs,
                {Numbers<int64_t>({0, 1, 0, 4, 1, 0, 1, 3}, Shape{4, 2}),
                 Numbers<float>({1, 9, 2, 3}), Numbers<int64_t>({2, 7})});
  ExpectOutputs("SparseConcat",
                {kPartPlaces, kPartPlaces, Texts({"a", "b", "c"}), Texts({"d", "e", "f"}),
                 kPartShape, kPartShape},
                {{"concat_dim", int64_t{0}}},
                {Numbers<int64_t>({0, 1, 1, 0, 1, 3, 2, 1, 3, 0, 3, 3}, Shape{6, 2}),
                 Texts({"a", "b", "c", "d", "e", "f"}), Numbers<int64_t>({4, 4})});
  ExpectError(
      "SparseConcat",
      {kPartPlaces, kPartPlaces, kPartValues, kPartValues, kPartShape, Numbers<int64_t>({3, 4})},
      attrs, Code::kInvalidArgument, "Input shapes must match");
  ExpectError("SparseConcat",
              {kPartPlaces, kPartPlaces, kPartValues, kPartValues, kPartShape, kPartShape},
              {{"concat_dim", int64_t{2}}}, Code::kInvalidArgument, "concat_dim");
  const Tensor most = Numbers<int64_t>({2, INT64_MAX / 4});
  ExpectError("SparseConcat",
              {kPartPlaces, kPartPlaces, kPartPlaces, kPartPlaces, kPartPlaces, kPartValues,
               kPartValues, kPartValues, kPartValues, kPartValues, most, most, most, most, most},
              attrs, Code::kInvalidArgument, "");
}

TEST(SparsePartsTest, Splits) {
  const Tensor dim = Tensor::Scalar(int64_t{1});
  ExpectOutputs("SparseSplit", {dim, kPartPlaces, kPartValues, kPartShape},
                {{"num_split", int64_t{3}}},
                {Numbers<int64_t>({0, 1, 1, 0}, Shape{2, 2}), Numbers<int64_t>({}, Shape{0, 2}),
                 Numbers<int64_t>({1, 0}, Shape{1, 2}), Numbers<float>({1, 2}), Numbers<float>({}),
                 Numbers<float>({3}), Numbers<int64_t>({2, 2}), Numbers<int64_t>({2, 1}),
                 Numbers<int64_t>({2, 1})});
  ExpectError("SparseSplit", {dim, kPartPlaces, kPartValues, kPartShape},
              {{"num_split", int64_t{5}}}, Code::kInvalidArgument, "num_split");
  ExpectError("SparseSplit", {Tensor::Scalar(int64_t{2}), kPartPlaces, kPartValues, kPartShape},
              {{"num_split", int64_t{1}}}, Code::kInvalidArgument, "split_dim");
}

TEST(SparsePartsTest, Slices) {
  const Tensor start = Numbers<int64_t>({0, 1});
  ExpectOutputs("SparseSlice",
                {kPartPlaces, kPartValues, kPartShape, start, Numbers<int64_t>({9, 3})}, {},
                {Numbers<int64_t>({0, 0, 1, 2}, Shape{2, 2}), Numbers<float>({1, 3}),
                 Numbers<int64_t>({2, 3})});
  ExpectOutputs(
      "SparseSliceGrad",
      {Numbers<float>({5, 6}), kPartPlaces, start, Numbers<int64_t>({0, 0, 1, 2}, Shape{2, 2})}, {},
      {Numbers<float>({5, 0, 6})});
  ExpectError(
      "SparseSlice",
      {kPartPlaces, kPartValues, kPartShape, Numbers<int64_t>({-1, 0}), Numbers<int64_t>({1, 1})},
      {}, Code::kInvalidArgument, "negative");
  ExpectError("SparseSlice",
              {kPartPlaces, Numbers<float>({1, 2, 3}, Shape{1, 3}), kPartShape, start,
               Numbers<int64_t>({1, 1})},
              {}, Code::kInvalidArgument, "Sparse values must be rank 1 but is rank 2");
  ExpectError("SparseSliceGrad",
              {Numbers<float>({5}), kPartPlaces, start, Numbers<int64_t>({7, 7}, Shape{1, 2})}, {},
              Code::kInternal, "not a slice");
  ExpectError("SparseSliceGrad",
              {Numbers<float>({5}), Numbers<int64_t>({}, Shape{0, 2}), start,
               Numbers<int64_t>({7, 7}, Shape{1, 2})},
              {}, Code::kInvalidArgument, "rows");
}

TEST(SparsePartsTest, GradientOfSlice) {
  OpCase("SparseSlice")
      .Types({{"T", DType::kDouble}})
      .Reference([](auto& r) {
        r.out = {
            {Shape{2, 2}, {0, 0, 1, 2}}, {Shape{2}, {r.in[1][0], r.in[1][2]}}, {Shape{2}, {2, 3}}};
      })
      .GradInputs({1})
      .GradOutputs({1})
      .ShapesFromValues("how many places lie inside")
      .Try({In(kPartPlaces), In({3}), In(kPartShape), In({2}, {0, 1}), In({2}, {2, 3})})
      .Run();
}

}  // namespace
}  // namespace thalweg
