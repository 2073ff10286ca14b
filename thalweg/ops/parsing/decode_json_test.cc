// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/io/test_example_bytes.h"
#include "thalweg/ops/parsing/example_json.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A feature "a" of this list.
std::string Text(std::string_view kind, std::string_view values) {
  return StrCat(R"({"features": {"feature": {"a": {")", kind, R"(": {"value": )", values, "}}}}}");
}
std::string Bytes(std::string_view json) {
  const Result<std::string> example = ExampleFromJson(json);
  EXPECT_TRUE(example.ok()) << example.status().ToString();
  return example.ok() ? *example : "";
}
std::string Error(std::string_view json) {
  const Status status = ExampleFromJson(json).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << json;
  return std::string(status.message());
}

TEST(ExampleJsonTest, BytesAreThoseOfTensorFlow) {
  EXPECT_EQ(Bytes(R"({"features":{"feature":{"b":{"int64List":{"value":[1,"2",-3]}},)"
                  R"("a":{"floatList":{"value":[1.5,"NaN","-Infinity",2]}},)"
                  R"("c":{"bytesList":{"value":["aGk=","aGk","-_8=",""]}}}}})"),
            std::string("\nL\n\x16\n\x01"
                        "b\x12\x11\x1a\x0f\x08\x01\x08\x02\x08\xfd\xff\xff\xff\xff\xff\xff\xff\xff"
                        "\x01\n\x1b\n\x01"
                        "a\x12\x16\x12\x14\r\x00\x00\xc0?\r\x00\x00\xc0\x7f\r\x00\x00\x80\xff\r\x00"
                        "\x00\x00@\n\x15\n\x01"
                        "c\x12\x10\n\x0e\n\x02hi\n\x02hi\n\x02\xfb\xff\n\x00",
                        78));
}

TEST(ExampleJsonTest, WhatIsNotThereIsLeftOut) {
  EXPECT_EQ(Bytes("{}"), "");
  EXPECT_EQ(Bytes(R"({"features": null})"), "");
  EXPECT_EQ(Bytes(R"({"features": {}})"), Field(1, ""));
  EXPECT_EQ(Bytes(R"({"features": {"feature": null}})"), Field(1, ""));
  EXPECT_EQ(Bytes(R"({"features": {"feature": {"a": {}}}})"), ExampleBytes({{"a", ""}}));
  EXPECT_EQ(Bytes(R"({"features": {"feature": {"a": null}}})"), Field(1, Field(1, Field(1, "a"))));
  EXPECT_EQ(Bytes(R"({"features": {"feature": {"a": {"int64_list": {}}}}})"),
            ExampleBytes({{"a", Field(3, "")}}));
  EXPECT_EQ(Bytes(Text("int64List", "[null]")), Bytes(Text("int64List", "null")));
}

TEST(ExampleJsonTest, NumbersOfAllForms) {
  const std::string one = Bytes(Text("int64List", "[1]"));
  for (const char* same : {"1", "[1.0]", "[10e-1]", "[\"1\"]", "[\"1.0\"]"}) {
    EXPECT_EQ(Bytes(Text("int64_list", same)), one) << same;
  }
  EXPECT_EQ(Bytes(Text("int64List", "[9223372036854775807, \"-9223372036854775808\"]")),
            Bytes(Text("int64List", "[\"9223372036854775807\", -9223372036854775808]")));
  EXPECT_EQ(Bytes(Text("floatList", "[\"1.5\"]")), Bytes(Text("float_list", "[15e-1]")));
  EXPECT_EQ(Bytes(Text("floatList", "[1e-60]")), Bytes(Text("floatList", "[0.0]")));
  EXPECT_EQ(Bytes(Text("bytesList", "[\"+/8=\"]")), Bytes(Text("bytes_list", "[\"-_8\"]")));
}

TEST(ExampleJsonTest, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(Error(Text("int64List", "[1, 2, 1.5]")),
            "features.feature[\"a\"].int64List.value[2]: expected an integer of 64 bits, got 1.5");
  EXPECT_THAT(Error(Text("int64List", "[9223372036854775808]")), HasSubstr("9223372036854775808"));
  EXPECT_THAT(Error(Text("int64List", "[1e300]")), HasSubstr("got 1e300"));
  for (const char* bad : {"[true]", "[\"x\"]", "[\"\"]", "[\" 1\"]", "[\"0x1\"]", "[[1]]", "{}"}) {
    EXPECT_THAT(Error(Text("int64List", bad)), HasSubstr("expected an integer of 64 bits")) << bad;
  }
  EXPECT_THAT(Error(Text("floatList", "[1e39]")), HasSubstr("a number that a float holds"));
  EXPECT_THAT(Error(Text("floatList", "[\"1e39\"]")), HasSubstr("got \"1e39\""));
  EXPECT_THAT(Error(Text("bytesList", "[5]")), HasSubstr("expected a text of base64, got 5"));
  EXPECT_THAT(Error(Text("bytesList", "[\"*\"]")), HasSubstr("expected base64, got \"*\""));
  EXPECT_EQ(Error(R"({"feature": {}})"), "the example: expected features, got a field \"feature\"");
  EXPECT_EQ(Error(R"({"features": {"x": 1}})"), "features: expected feature, got a field \"x\"");
  EXPECT_EQ(Error(R"({"features": 5})"), "the example: expected an object, got 5");
  EXPECT_EQ(Error(R"({"features": {"feature": {"a": {"kind": 1}}}})"),
            "features.feature[\"a\"]: expected bytesList, floatList or int64List, got a field "
            "\"kind\"");
  EXPECT_THAT(Error(R"({"features": {"feature": {"a": {"int64List": {}, "floatList": {}}}}})"),
              HasSubstr("a feature is one list"));
  EXPECT_THAT(Error(R"({"features": {"feature": {"a": null, "a": null}}})"),
              HasSubstr("[\"a\"]: expected a key once"));
  for (const char* bad : {"null", "5", "\"x\"", "[]"}) {
    EXPECT_THAT(Error(bad), StartsWith("the example: expected an object")) << bad;
  }
}

TEST(ExampleJsonTest, WhatIsNoJson) {
  EXPECT_THAT(Error("{\"features\": {}} x"), HasSubstr("line 1, column 18"));
  for (const char* bad : {"", " ", "{", "{'features':{}}", "{features:{}}", "{\"features\":{},}",
                          "{\"features\":", "{\"features\":\"\xff\"}"}) {
    EXPECT_THAT(Error(bad), HasSubstr("parse error")) << bad;
  }
  EXPECT_THAT(Error(Text("int64List", "[1,]")), HasSubstr("parse error"));
  EXPECT_THAT(Error(Text("int64List", "[01]")), HasSubstr("parse error"));
  // Nothing is opened that an Example does not have.
  EXPECT_THAT(Error(std::string(1 << 20, '[')), HasSubstr("got an array"));
}

TEST(ExampleJsonTest, NamesInErrorsAreShort) {
  EXPECT_LT(Error(StrCat("{\"", std::string(100'000, 'x'), "\": 1}")).size(), 300u);
}

TEST(DecodeJsonTest, EveryElement) {
  const std::vector<std::string> texts = {"{}", Text("int64List", "[3]")};
  const auto out = RunOp("DecodeJSONExample", {Tensor::Of<std::string>(texts, Shape{2, 1})});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].shape(), (Shape{2, 1}));
  EXPECT_EQ((*out)[0].data<std::string>()[1], Bytes(texts[1]));
  const Tensor bad = Tensor::Vector<std::string>({"{}", "{\"x\": 1}"});
  const Status status = RunOp("DecodeJSONExample", {bad}).status();
  EXPECT_THAT(status.message(), HasSubstr("Error while parsing JSON: the example: expected"));
  EXPECT_THAT(status.message(), HasSubstr("(element 1)"));
}

}  // namespace
}  // namespace thalweg
