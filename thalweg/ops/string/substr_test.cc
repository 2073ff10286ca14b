// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const Tensor kTwo = Texts({"abc", "defgh"});
const AttrMap kCharacters = {{"unit", std::string("UTF8_CHAR")}};

// Recorded with TensorFlow 2.21.
TEST(SubstrTest, BytesAndCharacters) {
  const auto expect = [](int32_t pos, int32_t len, const AttrMap& attrs, const std::string& a,
                         const std::string& b) {
    ExpectOutputs("Substr", {kTwo, Tensor::Scalar(pos), Tensor::Scalar(len)}, attrs,
                  {Texts({a, b})});
  };
  for (const AttrMap& attrs : {AttrMap(), kCharacters}) {
    expect(0, 2, attrs, "ab", "de");
    expect(-2, 1, attrs, "b", "g");
    expect(3, 1, attrs, "", "g");
    expect(1, 100, attrs, "bc", "efgh");
    for (const int32_t pos : {4, -4, INT32_MIN}) {
      ExpectError("Substr", {kTwo, Tensor::Scalar(pos), Tensor::Scalar(1)}, attrs,
                  Code::kInvalidArgument, StrCat("pos ", pos, " out of range"));
    }
  }
  expect(1, -1, {}, "bc", "efgh");
  expect(1, -1, kCharacters, "", "");
  const Tensor many = Texts({"a\u00e9\u65e5x"});
  ExpectOutputs("Substr", {many, Numbers<int64_t>({1}), Numbers<int64_t>({2})}, kCharacters,
                {Texts({"\u00e9\u65e5"})});
}

TEST(SubstrTest, Broadcasts) {
  ExpectOutputs("Substr",
                {kTwo, Numbers<int32_t>({0, 1, 1, 1}, Shape{2, 2}),
                 Numbers<int32_t>({1, 2, 1, 1}, Shape{2, 2})},
                {}, {Texts({"a", "ef", "b", "e"}, Shape{2, 2})});
  ExpectOutputs("Substr",
                {Texts({"abc"}), Numbers<int32_t>({1, 2}, Shape{2, 1}),
                 Numbers<int32_t>({1, 1}, Shape{2, 1})},
                {}, {Texts({"b", "c"}, Shape{2, 1})});
  ExpectError("Substr", {kTwo, Numbers<int32_t>({0, 0, 0}), Numbers<int32_t>({1, 1, 1})}, {},
              Code::kInvalidArgument, "broadcast");
  ExpectError("Substr", {kTwo, Tensor::Scalar(0), Numbers<int32_t>({1, 1})}, {},
              Code::kInvalidArgument, "same shape");
}

TEST(SubstrTest, Lengths) {
  const Tensor texts = Texts({"a\x80\x80", "\u65e5\u672c", "", std::string("\0b", 2)});
  ExpectOutputs("StringLength", {texts}, {}, {Numbers<int32_t>({3, 6, 0, 2})});
  ExpectOutputs("StringLength", {texts}, kCharacters, {Numbers<int32_t>({1, 2, 0, 2})});
}

}  // namespace
}  // namespace thalweg
