// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

AttrMap Attrs(std::vector<int64_t> widths, const char* left, const char* right, int64_t pad,
              bool preserve) {
  return {{"separator", std::string("|")},
          {"ngram_widths", std::move(widths)},
          {"left_pad", std::string(left)},
          {"right_pad", std::string(right)},
          {"pad_width", pad},
          {"preserve_short_sequences", preserve}};
}

// Recorded with TensorFlow 2.21.
TEST(StringNGramsTest, JoinsNeighbors) {
  const auto expect = [](const AttrMap& attrs, std::vector<std::string> expected,
                         std::vector<int64_t> splits) {
    ExpectOutputs("StringNGrams",
                  {Texts({"a", "b", "c", "d", "e"}), Numbers<int64_t>({0, 3, 3, 5})}, attrs,
                  {Texts(expected), Numbers(splits)});
  };
  expect(Attrs({2}, "", "", 0, false), {"a|b", "b|c", "d|e"}, {0, 2, 2, 3});
  expect(Attrs({1, 2}, "L", "R", -1, false),
         {"a", "b", "c", "L|a", "a|b", "b|c", "c|R", "L|R", "d", "e", "L|d", "d|e", "e|R"},
         {0, 7, 8, 13});
  expect(Attrs({3}, "L", "R", 1, false), {"L|a|b", "a|b|c", "b|c|R", "L|d|e", "d|e|R"},
         {0, 3, 3, 5});
  expect(Attrs({5}, "", "", 0, true), {"a|b|c", "d|e"}, {0, 1, 1, 2});
  expect(Attrs({5}, "", "", 0, false), {}, {0, 0, 0, 0});
}

TEST(StringNGramsTest, Refusals) {
  const auto refuse = [](std::vector<int32_t> splits, int64_t width, std::string_view why) {
    AttrMap attrs = Attrs({width}, "", "", 0, false);
    attrs.Set("Tsplits", DType::kInt32);
    ExpectError("StringNGrams", {Texts({"a"}), Numbers(splits)}, attrs, Code::kInvalidArgument,
                why);
  };
  // Whatever the shape of the texts.
  const Tensor row = *Texts({"a", "b"}).Reshaped(Shape{1, 2});
  AttrMap attrs = Attrs({2}, " ", "", 0, false);
  attrs.Set("Tsplits", DType::kInt32);
  KernelCall call("StringNGrams", {row, Tensor::Vector<int32_t>({0, 2})}, attrs);
  ASSERT_TRUE(call.Run().ok());
  EXPECT_EQ(call.output(0).num_elements(), 1);
  refuse({0, 2}, 1, "row splits end at 2, of 1 values");
  refuse({1, 1}, 1, "row splits must begin with 0, got 1");
  refuse({0, 1}, 0, "positive");
  refuse({0, 1, 0, 1}, 1, "row splits must not go down");
  refuse({0, 0}, 1, "row splits end at 0, of 1 values");
  refuse({0, 1}, int64_t{1} << 40, "2^20");
  ExpectError("StringNGrams", {Texts({"a"}), *Numbers<int32_t>({0, 1}).Reshaped(Shape{1, 2})},
              attrs, Code::kInvalidArgument, "rank 1");
}

}  // namespace
}  // namespace thalweg
