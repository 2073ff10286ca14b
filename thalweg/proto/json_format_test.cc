// SPDX-License-Identifier: Apache-2.0
// JSON of messages and value by value.
#include "thalweg/proto/json_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thalweg/proto/json_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

std::string JsonOf(const MessageDescriptor& type, std::string_view text) {
  const Result<OwnedMessage> message = ParseText(type, text);
  EXPECT_TRUE(message.ok()) << message.status().ToString();
  const Result<std::string> json = PrintJson(**message);
  EXPECT_TRUE(json.ok()) << json.status().ToString();
  return *json;
}

TEST(JsonFormatTest, AnExampleAsProtobufPrintsIt) {
  EXPECT_EQ(JsonOf(pb::Example::Descriptor(), R"(features {
    feature { key: "b" value { bytes_list { value: "\000\377a" value: "" } } }
    feature { key: "f" value { float_list { value: [0.1, inf, -inf, nan, 1e20] } } }
    feature { key: "i" value { int64_list { value: [-1, 9223372036854775807] } } }
    feature { key: "none" value { } } })"),
            R"({"features": {"feature": {"b": {"bytesList": {"value": ["AP9h", ""]}}, )"
            R"("f": {"floatList": {"value": [0.1, "Infinity", "-Infinity", "NaN", 1e+20]}}, )"
            R"("i": {"int64List": {"value": ["-1", "9223372036854775807"]}}, "none": {}}}})");
}

TEST(JsonFormatTest, NamesEnumsAndMaps) {
  EXPECT_EQ(JsonOf(pb::NodeDef::Descriptor(), R"(name: "a\n\"" op: "Const"
      attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "n" value { b: true } })"),
            R"({"name": "a\u000a\"", "op": "Const", )"
            R"("attr": {"dtype": {"type": "DT_FLOAT"}, "n": {"b": true}}})");
  // A number that the enum does not have stays a number.
  EXPECT_EQ(JsonOf(pb::AttrValue::Descriptor(), "type: 999"), R"({"type": 999})");
}

TEST(JsonFormatTest, MessagesNestedTooDeepAreRefused) {
  OwnedMessage deep(pb::VariantTensorDataProto::Descriptor());
  Message* at = deep.get();
  for (int i = 0; i < 60; ++i) {
    at = at->Add(pb::VariantTensorDataProto::kTensors)->Add(pb::TensorProto::kVariantVal);
  }
  EXPECT_EQ(PrintJson(*deep).status().code(), Code::kInvalidArgument);
}

TEST(JsonWriterTest, CommasQuotesAndWhatJsonHasNot) {
  JsonWriter json;
  json.BeginObject().Key("a").BeginList().Number(1).Null().BeginObject().EndObject().EndList();
  json.Key("\"b\"").Number(std::nan("")).Key("c").Text("\xff\t\xc3\xa4").Key("d").Bool(false);
  json.Key("e").Number(std::numeric_limits<uint64_t>::max()).EndObject();
  // Bytes that are no UTF-8 are escaped one by one.
  EXPECT_EQ(
      json.Take(),
      "{\"a\": [1, null, {}], \"\\\"b\\\"\": \"NaN\", \"c\": \"\\u00ff\\u0009\\u00c3\\u00a4\","
      " \"d\": false, \"e\": 18446744073709551615}");
  EXPECT_EQ(JsonText("\xc3\xa4\x7f"), "\"\xc3\xa4\\u007f\"");
}

}  // namespace
}  // namespace thalweg
