// SPDX-License-Identifier: Apache-2.0
// Expected values as TensorFlow 2.21 gives them.
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

using Kinds = std::vector<DType>;

const Tensor kTextPlaces = Numbers<int64_t>({0, 0, 1, 0, 1, 1}, Shape{3, 2});
const Tensor kTexts = Texts({"a", "b", "c"}), kTextShape = Numbers<int64_t>({2, 2});
const Tensor kNumberPlaces = Numbers<int64_t>({0, 0, 1, 0}, Shape{2, 2});
const Tensor kNumbers = Numbers<int64_t>({7, 8}), kNumberShape = Numbers<int64_t>({2, 1});
const Tensor kDenseTexts = Texts({"x", "y", "z", "w"}, Shape{2, 2});
const Tensor kDenseNumbers = Numbers<int64_t>({3, 4}, Shape{2, 1});
const std::vector<Tensor> kAll = {kTextPlaces, kNumberPlaces, kTexts,      kNumbers,
                                  kTextShape,  kNumberShape,  kDenseTexts, kDenseNumbers};
const Tensor kSixPlaces = Numbers<int64_t>({0, 0, 0, 1, 1, 0, 1, 1, 1, 2, 1, 3}, Shape{6, 2});
const Tensor kSixShape = Numbers<int64_t>({2, 4});

AttrMap Columns(const Kinds& sparse, const Kinds& dense) {
  return {
      {"N", static_cast<int64_t>(sparse.size())}, {"sparse_types", sparse}, {"dense_types", dense}};
}
AttrMap First(const Kinds& sparse, const Kinds& dense, DType out, DType internal,
              int64_t buckets = 0, int64_t key = 956888297470) {
  AttrMap attrs = Columns(sparse, dense);
  attrs.Set("hashed_output", out == DType::kInt64);
  attrs.Set("num_buckets", buckets);
  attrs.Set("hash_key", key);
  attrs.Set("out_type", out);
  attrs.Set("internal_type", internal);
  return attrs;
}
const Kinds kBoth = {DType::kString, DType::kInt64};

TEST(SparseCrossTest, JoinsTexts) {
  const AttrMap attrs = First({DType::kString}, {DType::kString}, DType::kString, DType::kString);
  ExpectOutputs(
      "SparseCross", {kTextPlaces, kTexts, kTextShape, kDenseTexts}, attrs,
      {kSixPlaces, Texts({"a_X_x", "a_X_y", "b_X_z", "b_X_w", "c_X_z", "c_X_w"}), kSixShape});
  std::vector<Tensor> all = kAll;
  all.push_back(Tensor::Scalar("_Y_"));
  ExpectOutputs("SparseCrossV2", all, Columns(kBoth, kBoth),
                {kSixPlaces,
                 Texts({"a_Y_7_Y_x_Y_3", "a_Y_7_Y_y_Y_3", "b_Y_8_Y_z_Y_4", "b_Y_8_Y_w_Y_4",
                        "c_Y_8_Y_z_Y_4", "c_Y_8_Y_w_Y_4"}),
                 kSixShape});
}

TEST(SparseCrossTest, Hashes) {
  ExpectOutputs("SparseCross", kAll, First(kBoth, kBoth, DType::kInt64, DType::kInt64),
                {kSixPlaces,
                 Numbers<int64_t>({6065751633607988169, 1949904992456216169, 3852342502346073448,
                                   5190449679778942957, 2926380657801360876, 133418867284427055}),
                 kSixShape});
  ExpectOutputs("SparseCross", kAll, First(kBoth, kBoth, DType::kInt64, DType::kInt64, 100),
                {kSixPlaces, Numbers<int64_t>({69, 76, 55, 64, 83, 62}), kSixShape});
  std::vector<Tensor> all = kAll;
  all.insert(all.end(),
             {Tensor::Scalar(int64_t{0}), Tensor::Scalar(false), Numbers<int64_t>({1, 2})});
  ExpectOutputs("SparseCrossHashed", all, Columns(kBoth, kBoth),
                {kSixPlaces,
                 Numbers<int64_t>({45272470780328945, 6187405947651917162, 4429476202093196219,
                                   8359225451252460141, 8846861919989829799, 8446411337729996309}),
                 kSixShape});
}

TEST(SparseCrossTest, StrongHashes) {
  const auto expect = [](const std::vector<std::string>& texts, std::vector<int64_t> salt,
                         int64_t buckets, int64_t hash) {
    std::vector<Tensor> inputs;
    for (const std::string& text : texts) inputs.push_back(Texts({text}, Shape{1, 1}));
    inputs.insert(inputs.end(), {Tensor::Scalar(buckets), Tensor::Scalar(true), Numbers(salt)});
    ExpectOutputs("SparseCrossHashed", inputs, Columns({}, Kinds(texts.size(), DType::kString)),
                  {Numbers<int64_t>({0, 0}, Shape{1, 2}), Numbers<int64_t>({hash}),
                   Numbers<int64_t>({1, 1})});
  };
  expect({"abc"}, {1, 2}, 0, 5862226954915230110);
  expect({"abc"}, {-1, 5}, 0, 1746076098361847188);
  expect({"abc", "d"}, {1, 2}, 0, 5404426135993071132);
  expect({"abc", "d"}, {1, 2}, 100, 32);
  expect({"abc", "d", ""}, {1, 2}, 0, 6930579293496402163);
  const Tensor place = Numbers<int64_t>({0, 0}, Shape{1, 2}), one = Numbers<int64_t>({1, 1});
  ExpectOutputs("SparseCrossHashed",
                {place, Numbers<int64_t>({7}), one, Tensor::Scalar(int64_t{0}),
                 Tensor::Scalar(true), Numbers<int64_t>({1, 2})},
                Columns({DType::kInt64}, {}),
                {place, Numbers<int64_t>({8054497223537440138}), one});
}

TEST(SparseCrossTest, RowsWithoutAFeatureHaveNoCrosses) {
  const AttrMap attrs = First({DType::kString}, {DType::kString}, DType::kString, DType::kString);
  ExpectOutputs("SparseCross",
                {Numbers<int64_t>({0, 0}, Shape{1, 2}), Texts({"a"}), kTextShape, kDenseTexts},
                attrs,
                {Numbers<int64_t>({0, 0, 0, 1}, Shape{2, 2}), Texts({"a_X_x", "a_X_y"}),
                 Numbers<int64_t>({2, 2})});
  ExpectOutputs("SparseCross", {}, First({}, {}, DType::kString, DType::kString),
                {Numbers<int64_t>({}, Shape{0, 2}), Texts({}), Numbers<int64_t>({0, 0})});
}

TEST(SparseCrossTest, RefusesWhatDoesNotFit) {
  const AttrMap attrs = First({DType::kString}, {DType::kString}, DType::kString, DType::kString);
  const auto refuse = [&](std::vector<Tensor> inputs, std::string_view message) {
    ExpectError("SparseCross", inputs, attrs, Code::kInvalidArgument, message);
  };
  refuse({kTextPlaces, kTexts, Numbers<int64_t>({3, 2}), kDenseTexts}, "Expected batch size 3");
  refuse({kTextPlaces, Texts({"a"}), kTextShape, kDenseTexts}, "(indices = 3, values = 1)");
  refuse({kTextPlaces, kTexts, Numbers<int64_t>({2}), kDenseTexts}, "should imply a 2D tensor");
  refuse({kTextPlaces, kTexts, kTextShape, Texts({"x"})}, "should be a matrix");
  ExpectError("SparseCross", kAll, First(kBoth, kBoth, DType::kString, DType::kString),
              Code::kInvalidArgument, "internal type");
  std::vector<Tensor> all = kAll;
  all.insert(all.end(), {Tensor::Scalar(int64_t{0}), Tensor::Scalar(false), Numbers<int64_t>({1})});
  ExpectError("SparseCrossHashed", all, Columns(kBoth, kBoth), Code::kInvalidArgument,
              "must have length 2");
}

}  // namespace
}  // namespace thalweg
