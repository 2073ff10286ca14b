// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const AttrMap kUtf8 = {{"encoding", std::string("utf-8")}};

// Recorded with TensorFlow 2.21.
TEST(StringCaseTest, Cases) {
  const std::string mixed("aB\0c\xc3\x89", 6);
  ExpectOutputs("StringLower", {Texts({mixed, ""})}, {},
                {Texts({std::string("ab\0c\xc3\x89", 6), ""})});
  ExpectOutputs("StringUpper", {Texts({mixed})}, {}, {Texts({std::string("AB\0C\xc3\x89", 6)})});
  ExpectOutputs("StringStrip",
                {Texts({" \x0b"
                        "a b\n ",
                        "\xc2\xa0"
                        "a",
                        ""},
                       Shape{3, 1})},
                {},
                {Texts({"a b",
                        "\xc2\xa0"
                        "a",
                        ""},
                       Shape{3, 1})});
  ExpectError("StringUpper", {Texts({"a"})}, {{"encoding", std::string("latin1")}},
              Code::kInvalidArgument, "latin1");
}

TEST(StringCaseTest, BeyondAscii) {
  const auto first = RunOp("StringLower", {Texts({"A"})}, kUtf8);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  ExpectOutputs("StringLower",
                {Texts({"ABC\u00c9\u03a3", "\u0391\u03a3", "\u0130",
                        "\xff"
                        "A"})},
                kUtf8,
                {Texts({"abc\u00e9\u03c2", "\u03b1\u03c2", "i\u0307",
                        "\ufffd"
                        "a"})});
  ExpectOutputs("StringUpper", {Texts({"abc\u00e9\u00df", "\u0149", "\ufb01"})}, kUtf8,
                {Texts({"ABC\u00c9SS", "\u02bcN", "FI"})});
}

}  // namespace
}  // namespace thalweg
