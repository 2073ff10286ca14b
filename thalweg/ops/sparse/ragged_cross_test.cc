// SPDX-License-Identifier: Apache-2.0
// Expected values as TensorFlow 2.21 gives them.
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

using Kinds = std::vector<DType>;
constexpr DType kText = DType::kString, kInt = DType::kInt64;

const Tensor kRaggedTexts = Texts({"a", "b", "c"}), kTextSplits = Numbers<int64_t>({0, 1, 3});
const Tensor kRaggedNumbers = Numbers<int64_t>({7, 8, 9});
const Tensor kNumberSplits = Numbers<int64_t>({0, 2, 3});
const Tensor kPlaces = Numbers<int64_t>({0, 0, 1, 0, 1, 1}, Shape{3, 2});
const Tensor kSparseTexts = Texts({"p", "q", "r"}), kSparseShape = Numbers<int64_t>({2, 2});
const Tensor kSparseNumbers = Numbers<int64_t>({5, -6, 7});
const Tensor kDenseTexts = Texts({"x", "y", "z", "w"}, Shape{2, 2});
const Tensor kDenseNumbers = Numbers<int64_t>({3, 4}, Shape{2, 1});
const std::vector<Tensor> kAll = {kRaggedTexts, kRaggedNumbers, kTextSplits,  kNumberSplits,
                                  kPlaces,      kPlaces,        kSparseTexts, kSparseNumbers,
                                  kSparseShape, kSparseShape,   kDenseTexts,  kDenseNumbers};

AttrMap Attrs(std::string order, const Kinds& ragged, const Kinds& splits, const Kinds& sparse,
              const Kinds& dense, DType out = kText, DType out_splits = kInt, int64_t buckets = 0,
              int64_t key = 956888297470) {
  return {{"Nsparse", static_cast<int64_t>(sparse.size())},
          {"input_order", std::move(order)},
          {"hashed_output", out == kInt},
          {"num_buckets", buckets},
          {"hash_key", key},
          {"ragged_values_types", ragged},
          {"ragged_splits_types", splits},
          {"sparse_values_types", sparse},
          {"dense_types", dense},
          {"out_values_type", out},
          {"out_row_splits_type", out_splits}};
}
const Kinds kBoth = {kText, kInt}, kTwoInts = {kInt, kInt}, kNone = {};
AttrMap OneRagged(std::string order = "R") {
  return Attrs(std::move(order), {kText}, {kInt}, kNone, kNone);
}

TEST(RaggedCrossTest, JoinsTexts) {
  ExpectOutputs("RaggedCross", {kRaggedTexts, kTextSplits}, OneRagged(),
                {Texts({"a", "b", "c"}), Numbers<int64_t>({0, 1, 3})});
  ExpectOutputs("RaggedCross", {kRaggedTexts, kRaggedNumbers, kTextSplits, kNumberSplits},
                Attrs("RR", kBoth, kTwoInts, kNone, kNone),
                {Texts({"a_X_7", "a_X_8", "b_X_9", "c_X_9"}), Numbers<int64_t>({0, 2, 4})});
  ExpectOutputs("RaggedCross",
                {kRaggedTexts, kTextSplits, kPlaces, kSparseTexts, kSparseShape, kDenseTexts},
                Attrs("RSD", {kText}, {kInt}, {kText}, {kText}),
                {Texts({"a_X_p_X_x", "a_X_p_X_y", "b_X_q_X_z", "b_X_q_X_w", "b_X_r_X_z",
                        "b_X_r_X_w", "c_X_q_X_z", "c_X_q_X_w", "c_X_r_X_z", "c_X_r_X_w"}),
                 Numbers<int64_t>({0, 2, 10})});
}

TEST(RaggedCrossTest, Hashes) {
  ExpectOutputs(
      "RaggedCross", kAll, Attrs("RRSSDD", kBoth, kTwoInts, kBoth, kBoth, kInt),
      {Numbers<int64_t>(
           {5026645808966949921, 4029200994837178849, 6133683082839879525, 8356161725391465899,
            7099871840820153896, 8153579836845480864, 44756063590905463,   1519100398522767462,
            8856261095774161391, 9160915494228141275, 424525377220742822,  6301340143229031962,
            6804829916669232420, 3632529978856791904, 3303369900238429812, 7382438088951593041,
            4130118167507694299, 8697943978064809786, 1284892194117709485, 133075762590576532}),
       Numbers<int64_t>({0, 4, 20})});
  ExpectOutputs("RaggedCross", kAll,
                Attrs("DSRRSD", kBoth, kTwoInts, kBoth, kBoth, kInt, DType::kInt32, 100),
                {Numbers<int64_t>(
                     {90, 8, 13, 87, 11, 41, 43, 1, 35, 5, 64, 56, 93, 21, 64, 53, 44, 75, 79, 78}),
                 Numbers<int32_t>({0, 4, 20})});
  ExpectOutputs("RaggedCross", {kRaggedNumbers, kNumberSplits},
                Attrs("R", {kInt}, {kInt}, kNone, kNone, kInt, kInt, 0, 1),
                {Numbers<int64_t>({191577653043972540, 375451171059006169, 3533803801511781576}),
                 Numbers<int64_t>({0, 2, 3})});
}

TEST(RaggedCrossTest, NothingToCross) {
  ExpectOutputs("RaggedCross", {}, Attrs("", kNone, kNone, kNone, kNone),
                {Texts({}), Numbers<int64_t>({0})});
  // Places beyond the shape belong to no row.
  ExpectOutputs("RaggedCross", {Numbers<int64_t>({5, 5}, Shape{1, 2}), Texts({"p"}), kSparseShape},
                Attrs("S", kNone, kNone, {kText}, kNone), {Texts({}), Numbers<int64_t>({0, 0, 0})});
}

TEST(RaggedCrossTest, RefusesWhatDoesNotFit) {
  const auto refuse = [](const std::vector<Tensor>& inputs, const AttrMap& attrs,
                         std::string_view message) {
    ExpectError("RaggedCross", inputs, attrs, Code::kInvalidArgument, message);
  };
  for (const char* order : {"", "RD", "RR"}) {
    refuse({kRaggedTexts, kTextSplits}, OneRagged(order), "input_order");
  }
  refuse({kRaggedTexts, kTextSplits}, OneRagged("X"), "must consist of");
  refuse({kRaggedTexts, kTextSplits, kTextSplits}, Attrs("R", {kText}, kTwoInts, kNone, kNone),
         "must be as many");
  for (const auto& splits :
       {Numbers<int64_t>({0, 2, 1}), Numbers<int64_t>({1, 2, 3}), Numbers<int64_t>({0, 2}),
        Numbers<int64_t>({0, 9}), Numbers<int64_t>({0, int64_t{1} << 62, 3}), Numbers<int64_t>({}),
        Numbers<int64_t>({0, 3}, Shape{1, 2})}) {
    refuse({kRaggedTexts, splits}, OneRagged(), "");
  }
  refuse({Texts({"a"}, Shape{1, 1}), Numbers<int64_t>({0, 1})}, OneRagged(), "rank 2");
  refuse({kRaggedTexts, kTextSplits, Texts({"x"}, Shape{1, 1})},
         Attrs("RD", {kText}, {kInt}, kNone, {kText}), "");
  refuse({Texts({"x"})}, Attrs("D", kNone, kNone, kNone, {kText}), "");
  const AttrMap sparse = Attrs("S", kNone, kNone, {kText}, kNone);
  refuse({kPlaces, Texts({"p"}), kSparseShape}, sparse, "(indices = 3, values = 1)");
  refuse({kPlaces, kSparseTexts, Numbers<int64_t>({2})}, sparse, "should imply a 2D tensor");
  ExpectError("RaggedCross", {kPlaces, kSparseTexts, Numbers<int64_t>({int64_t{1} << 40, 2})},
              sparse, Code::kResourceExhausted, "too large");
}

}  // namespace
}  // namespace thalweg
