// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

TEST(Base64Test, ThereAndBack) {
  const Tensor bytes = Texts({"", "a", "ab", "abc", "\xff\xfe\xfd\xfc"});
  const Tensor plain = Texts({"", "YQ", "YWI", "YWJj", "__79_A"});
  const Tensor padded = Texts({"", "YQ==", "YWI=", "YWJj", "__79_A=="});
  ExpectOutputs("EncodeBase64", {bytes}, {}, {plain});
  ExpectOutputs("EncodeBase64", {bytes}, {{"pad", true}}, {padded});
  ExpectOutputs("DecodeBase64", {plain}, {}, {bytes});
  ExpectOutputs("DecodeBase64", {padded}, {}, {bytes});
}

// As TensorFlow 2.21 does.
TEST(Base64Test, Refusals) {
  for (const char* text : {"YQ=", "Y", "Y===", "Y Q", "+/+/", "=", "====", "YQ==YQ==", "YQ\n"}) {
    ExpectError("DecodeBase64", {Texts({"YQ", text})}, {}, Code::kInvalidArgument, "base64");
  }
}

}  // namespace
}  // namespace thalweg
