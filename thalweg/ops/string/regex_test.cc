// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/regex.h"

#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

Tensor One(const std::string& text) { return Tensor::Scalar(text); }

class RegexTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(compute::HasRegex()) << "libthalweg_re2.so does not lie beside the test";
  }
};

// Recorded with TensorFlow 2.21.
TEST_F(RegexTest, Replaces) {
  const auto expect = [](const std::string& text, const std::string& pattern,
                         const std::string& rewrite, bool all, const std::string& expected) {
    const AttrMap attrs = {{"replace_global", all}};
    ExpectOutputs("RegexReplace", {Texts({text, ""}), One(pattern), One(rewrite)}, attrs,
                  {Texts({expected, pattern.empty() ? rewrite : ""})});
    ExpectOutputs("StaticRegexReplace", {Texts({text})},
                  {{"pattern", pattern}, {"rewrite", rewrite}, {"replace_global", all}},
                  {Texts({expected})});
  };
  expect("abcabc", "b", "X", true, "aXcaXc");
  expect("abcabc", "b", "X", false, "aXcabc");
  expect("aab", "(a+)b", "\\1-", true, "aa-");
  expect("aab", "(a+)b", "\\2", true, "aab");
  expect("abc", "", "-", true, "-a-b-c-");
  expect(std::string("a\0b", 3), std::string("\0", 1), "0", true, "a0b");
}

TEST_F(RegexTest, Matches) {
  const Tensor texts = Texts({"ab", "b", "abb\n"});
  const Tensor expected = Tensor::Vector<bool>({true, false, false});
  ExpectOutputs("RegexFullMatch", {texts, One(".b")}, {}, {expected});
  ExpectOutputs("StaticRegexFullMatch", {texts}, {{"pattern", std::string(".b")}}, {expected});
}

TEST_F(RegexTest, Refusals) {
  const std::string why = "Invalid pattern: (, error: missing ): (";
  ExpectError("RegexFullMatch", {Texts({"a"}), One("(")}, {}, Code::kInvalidArgument, why);
  ExpectError("RegexReplace", {Texts({"a"}), One("("), One("")}, {}, Code::kInvalidArgument, why);
  ExpectError("StaticRegexFullMatch", {Texts({"a"})}, {{"pattern", std::string("(")}},
              Code::kInvalidArgument, why);
  ExpectError("RegexFullMatch", {Texts({"a"}), Texts({"a"})}, {}, Code::kInvalidArgument, "");
}

}  // namespace
}  // namespace thalweg
