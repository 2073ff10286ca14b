// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/test_work.h"
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

Tensor OneText(const std::string& text) { return Tensor::Scalar(text); }

// The values alone: places are counted.
void ExpectParts(const std::string& op, const std::string& text, const std::string& separator,
                 const AttrMap& attrs, const std::vector<std::string>& expected) {
  const auto n = static_cast<int64_t>(expected.size());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < n; ++i) places.insert(places.end(), {1, i});
  ExpectOutputs(op, {Texts({"", text}), OneText(separator)}, attrs,
                {Numbers(places, Shape{n, 2}), Texts(expected), Numbers<int64_t>({2, n})});
}

// Recorded with TensorFlow 2.21.
TEST(StringSplitTest, AtAnyByte) {
  const AttrMap keep = {{"skip_empty", false}};
  ExpectParts("StringSplit", " a b  c ", " ", {}, {"a", "b", "c"});
  ExpectParts("StringSplit", " a b  c ", " ", keep, {"", "a", "b", "", "c", ""});
  ExpectParts("StringSplit", "a,b;c", ",;", {}, {"a", "b", "c"});
  ExpectParts("StringSplit", "abc", "", {}, {"a", "b", "c"});
  ExpectParts("StringSplit", ",,", ",", {}, {});
  ExpectParts("StringSplit", ",,", ",", keep, {"", "", ""});
  ExpectError("StringSplit", {OneText("a"), OneText(" ")}, {}, Code::kInvalidArgument, "");
  ExpectError("StringSplit", {Texts({"a"}), Texts({" "})}, {}, Code::kInvalidArgument, "");
}

// Recorded with TensorFlow 2.21.
TEST(StringSplitTest, AtSeparators) {
  const auto most = [](int64_t n) { return AttrMap{{"maxsplit", n}}; };
  ExpectParts("StringSplitV2", " a \tb\x0b ", "", {}, {"a", "b"});
  ExpectParts("StringSplitV2", " a  b c ", "", most(1), {"a", "b c "});
  ExpectParts("StringSplitV2", "abc", "", most(1), {"abc", ""});
  ExpectParts("StringSplitV2", "abc", "", most(2), {"abc"});
  const auto with_empty_first = [&](const std::string& text, const std::string& separator,
                                    int64_t n, std::vector<std::string> expected) {
    const auto got = RunOp("StringSplitV2", {Texts({text}), OneText(separator)}, most(n));
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(BitDifference((*got)[1], Texts(expected)), "") << (*got)[1].ToString();
  };
  with_empty_first("a<>b<><>c<>", "<>", -1, {"a", "b", "", "c", ""});
  with_empty_first(" a b  c ", " ", 2, {"", "a", "b  c "});
  with_empty_first(" a b  c ", " ", 0, {" a b  c "});
  with_empty_first("", ",", -1, {""});
  ExpectError("StringSplitV2", {OneText("a"), OneText(" ")}, {}, Code::kInvalidArgument, "");
}

// Both of its passes, and what picks or joins parts, look at the cancel flag among many parts.
TEST(StringSplitTest, EndsWithItsStep) {
  compute::TestWork work;
  work.cancel = true;
  const auto code = [&](std::string_view op, std::vector<Tensor> inputs) {
    KernelCall call(op, std::move(inputs));
    call.step().work = &work;
    return call.Run().code();
  };
  const Tensor many = Texts({std::string(1 << 16, ' ') + "a"}), at = Texts({" "}, Shape{});
  EXPECT_EQ(code("StringSplit", {many, at}), Code::kCancelled);
  EXPECT_EQ(code("StringSplitV2", {many, at}), Code::kCancelled);
  const Tensor texts = Texts(std::vector<std::string>(1 << 16, "ab"));
  EXPECT_EQ(code("Substr", {texts, Tensor::Scalar<int32_t>(1), Tensor::Scalar<int32_t>(1)}),
            Code::kCancelled);
  EXPECT_EQ(code("ReduceJoin", {texts, Tensor::Scalar<int32_t>(0)}), Code::kCancelled);
  EXPECT_EQ(code("UnsortedSegmentJoin",
                 {texts, Numbers(std::vector<int32_t>(1 << 16)), Tensor::Scalar<int32_t>(1)}),
            Code::kCancelled);
}

}  // namespace
}  // namespace thalweg
