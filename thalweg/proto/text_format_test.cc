// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/text_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "thalweg/proto/test_golden_files.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

OwnedMessage Parsed(const MessageDescriptor& type, std::string_view text) {
  Result<OwnedMessage> message = ParseText(type, text);
  EXPECT_TRUE(message.ok()) << message.status().ToString();
  return message.ok() ? *std::move(message) : OwnedMessage(type);
}

std::string Printed(const Message& message) {
  Result<std::string> text = PrintText(message);
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return text.ok() ? *text : "";
}

TEST(TextFormatTest, GoldenTextHoldsTheGoldenMessage) {
  const std::vector<GoldenFile> files = GoldenFiles(/*with_text=*/true);
  ASSERT_GE(files.size(), 50u);
  int printed_alike = 0;
  for (const GoldenFile& file : files) {
    const std::string text = ReadGolden(file.path + "txt");
    const Result<OwnedMessage> binary = ParseMessage(*file.type, ReadGolden(file.path));
    ASSERT_TRUE(binary.ok()) << file.name;
    const OwnedMessage message = Parsed(*file.type, text);
    EXPECT_TRUE(message->Equals(**binary)) << file.name;
    const std::string printed = Printed(**binary);
    EXPECT_TRUE(Parsed(*file.type, printed)->Equals(**binary)) << file.name;
    printed_alike += printed == text;
    // Release 1.15 writes floats with the digits of a double, and text SavedModels have maps in no
    // order.
    if (file.name.starts_with("graphs/2.21/")) {
      const auto differs = std::mismatch(text.begin(), text.end(), printed.begin(), printed.end());
      EXPECT_TRUE(printed == text) << file.name << ", byte " << (differs.first - text.begin());
    }
  }
  EXPECT_GE(printed_alike, static_cast<int>(files.size()) - 4);
}

TEST(TextFormatTest, PrintsAsProtobufDoes) {
  OwnedMessage value(pb::AttrValue::Descriptor());
  value->SetString(pb::AttrValue::kS, "\303\251'\"\x7f\x01\\\n\r\t"s);
  EXPECT_EQ(Printed(*value), "s: \"\\303\\251\\'\\\"\\177\\001\\\\\\n\\r\\t\"\n");
  value->SetString(pb::AttrValue::kPlaceholder, "\303\251'\x7f");
  EXPECT_EQ(Printed(*value), "placeholder: \"\303\251\\'\\177\"\n");
  value->SetInt(pb::AttrValue::kType, 1);
  EXPECT_EQ(Printed(*value), "type: DT_FLOAT\n");
  value->SetInt(pb::AttrValue::kType, 9999);
  EXPECT_EQ(Printed(*value), "type: 9999\n");
  value->SetBool(pb::AttrValue::kB, false);
  EXPECT_EQ(Printed(*value), "b: false\n");
  Message* list = value->Mutable(pb::AttrValue::kList);
  list->AddInt(pb::AttrValue::ListValue::kI, -1);
  list->AddInt(pb::AttrValue::ListValue::kI, 2);
  list->AddInt(pb::AttrValue::ListValue::kType, 3);
  EXPECT_EQ(Printed(*value), "list {\n  i: -1\n  i: 2\n  type: DT_INT32\n}\n");
  OwnedMessage job(pb::JobDef::Descriptor());
  job->MutableEntry(pb::JobDef::kTasks, 0);
  EXPECT_EQ(Printed(*job), "tasks {\n}\n") << "defaults of an entry are not shown";
  OwnedMessage function(pb::FunctionDef::Descriptor());
  function->MapMutable(pb::FunctionDef::kArgAttr, 0);
  EXPECT_EQ(Printed(*function), "arg_attr {\n  value {\n  }\n}\n") << "but for messages";
  OwnedMessage info(pb::GraphDebugInfo::Descriptor());
  info->MutableEntry(pb::GraphDebugInfo::kNameToTraceId, "");
  EXPECT_EQ(Printed(*info), "name_to_trace_id {\n  key: \"\"\n  value: 0\n}\n") << "and in proto2";
}

TEST(TextFormatTest, NumbersReadBackToTheSameBits) {
  struct Row {
    double value;
    const char* as_double;
    const char* as_float;
  };
  const std::vector<Row> rows = {
      {0.1, "0.1", "0.1"},
      {1, "1.0", "1.0"},
      {-0.0, "-0.0", "-0.0"},
      {1e-5, "1e-05", "1e-05"},
      {0.0001, "0.0001", "0.0001"},
      {1e15, "1000000000000000.0", "1000000000000000.0"},
      {1e16, "1e+16", "1e+16"},
      {1.5e300, "1.5e+300", "inf"},
      {5e-324, "5e-324", "0.0"},
      {0.738548934, "0.738548934", "0.73854893"},
      {16777217, "16777217.0", "16777216.0"},
      {-INFINITY, "-inf", "-inf"},
      {NAN, "nan", "nan"},
  };
  for (const Row& row : rows) {
    OwnedMessage tensor(pb::TensorProto::Descriptor());
    tensor->AddDouble(pb::TensorProto::kDoubleVal, row.value);
    tensor->AddFloat(pb::TensorProto::kFloatVal, static_cast<float>(row.value));
    const std::string text = Printed(*tensor);
    EXPECT_EQ(text, StrCat("float_val: ", row.as_float, "\ndouble_val: ", row.as_double, "\n"));
    EXPECT_TRUE(Parsed(pb::TensorProto::Descriptor(), text)->Equals(*tensor)) << text;
  }
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random());
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isnan(value)) continue;
    OwnedMessage tensor(pb::TensorProto::Descriptor());
    tensor->AddFloat(pb::TensorProto::kFloatVal, value);
    ASSERT_TRUE(Parsed(pb::TensorProto::Descriptor(), Printed(*tensor))->Equals(*tensor)) << value;
  }
}

TEST(TextFormatTest, ReadsEveryFormOfAValue) {
  const OwnedMessage tensor = Parsed(pb::TensorProto::Descriptor(), R"(
    # a comment
    dtype: 1, tensor_shape <dim { size: 0x10 }; dim: {size: 010} dim: [{size: 3}, <size: -4>]>
    int_val: [1, 2,3] int_val:4 int_val: [] int_val: - 5
    float_val: [1, .5, 1., 1e3f, 2F, inf, -Infinity, 1e400, 1e-400, 012]
    bool_val: [true, false, True, t, 1, 0]
    string_val: 'it''s' "\x41\102\u00e9\U0001F600\n\?" string_val: "\xff\0000"
    uint64_val: 18446744073709551615 int64_val: -9223372036854775808
  )");
  EXPECT_EQ(tensor->GetInt(pb::TensorProto::kDtype), 1);
  std::vector<int64_t> sizes;
  for (const Message* dim :
       tensor->GetMessage(pb::TensorProto::kTensorShape).Messages(pb::TensorShapeProto::kDim)) {
    sizes.push_back(dim->GetInt(pb::TensorShapeProto::Dim::kSize));
  }
  EXPECT_THAT(sizes, ElementsAre(16, 8, 3, -4));
  EXPECT_THAT(tensor->Repeated<int32_t>(pb::TensorProto::kIntVal), ElementsAre(1, 2, 3, 4, -5));
  EXPECT_THAT(tensor->Repeated<float>(pb::TensorProto::kFloatVal),
              ElementsAre(1, .5f, 1, 1000, 2, INFINITY, -INFINITY, INFINITY, 0, 12));
  EXPECT_THAT(tensor->Repeated<bool>(pb::TensorProto::kBoolVal),
              ElementsAre(true, false, true, true, true, false));
  EXPECT_THAT(tensor->Repeated<std::string_view>(pb::TensorProto::kStringVal),
              ElementsAre("itsAB\303\251\360\237\230\200\n?", "\xff\0000"s));
  EXPECT_THAT(tensor->Repeated<uint64_t>(pb::TensorProto::kUint64Val), ElementsAre(UINT64_MAX));
  EXPECT_THAT(tensor->Repeated<int64_t>(pb::TensorProto::kInt64Val), ElementsAre(INT64_MIN));
}

TEST(TextFormatTest, MapsTakeTheLastValueOfAKey) {
  const OwnedMessage node =
      Parsed(pb::NodeDef::Descriptor(),
             "attr { key: 'b' value { i: 1 } } attr: [{key: 'a'}, {value {i: 3} key: 'b'}]"
             "attr {}");
  ASSERT_EQ(node->Size(pb::NodeDef::kAttr), 3u);
  EXPECT_EQ(node->MapFind(pb::NodeDef::kAttr, "b")->GetInt(pb::AttrValue::kI), 3);
  EXPECT_NE(node->MapFind(pb::NodeDef::kAttr, ""), nullptr);
}

struct BadText {
  const char* text;
  const char* message;
};

TEST(TextFormatTest, MistakesAreNamedWithTheirPlace) {
  const BadText cases[] = {
      {"node {\n  nam: 'x'\n}",
       "2:3: GraphDef.node[0]: unknown field 'nam' of message tensorflow.NodeDef"},
      {"node { name: 'a' name: 'b' }",
       "1:18: GraphDef.node[0]: field 'name' is not repeated and has a value"},
      {"node { attr { value { i: 1 b: true } } }",
       "1:28: GraphDef.node[0].attr[0].value: field 'b' and field 'i' exclude each other"},
      {"node {", "1:7: GraphDef.node[0]: expected a field name or '}', found the end of the text"},
      {"node { name: 'a'\n\n",
       "3:1: GraphDef.node[0]: expected a field name or '}', found the end"},
      {"node < name: 'a' }", "expected a field name or '>', found '}'"},
      {"node: 5", "1:7: GraphDef.node: expected '{', found '5'"},
      {"node {} }", "1:9: GraphDef: expected a field name, found '}'"},
      {"versions { producer 5 }", "expected ':', found '5'"},
      {"versions { producer: 'x' }",
       "GraphDef.versions.producer: expected an integer, found ''x''"},
      {"versions { producer: 1.5 }", "expected an integer that fits 32 bits, found '1.5'"},
      {"versions { producer: 2147483648 }", "fits 32 bits, found '2147483648'"},
      {"versions { producer: -2147483649 }", "fits 32 bits, found '-2147483649'"},
      {"versions { producer: 09 }", "fits 32 bits, found '09'"},
      {"versions { producer: 0x }", "fits 32 bits, found '0x'"},
      {"versions { producer: 12ab }", "expected an integer, found a malformed number"},
      {"versions { bad_consumers: [1, 2 }", "expected ',' or ']', found '}'"},
      {"versions { bad_consumers: [1,] }", "expected an integer, found ']'"},
      {"node { name: 'a }",
       "GraphDef.node[0].name: expected a quoted string, found a string without its closing quote"},
      {"node { name: 'a\\", "a string without its closing quote"},
      {"node { name: a }", "expected a quoted string, found 'a'"},
      {"node { name: '\\q' }", "1:15: GraphDef.node[0].name: the string has an unknown escape"},
      {"node { name: '\\x' }", "a hexadecimal escape without digits"},
      {"node { name: '\\400' }", "an octal escape of more than a byte"},
      {"node { name: '\\u12' }", "a Unicode escape with too few digits"},
      {"node { name: '\\ud800' }", "a Unicode escape that is no character"},
      {"node { name: '\\377' }", "1:14: GraphDef.node[0].name: expected UTF-8"},
      {"node { attr { value { type: DT_FLAOT } } }",
       "GraphDef.node[0].attr[0].value.type: expected a value of enum tensorflow.DataType, found "
       "'DT_FLAOT'"},
      {"node { attr { value { type: 5000000000 } } }", "fits 32 bits"},
      {"node { attr { value { b: yes } } }", "expected true or false, found 'yes'"},
      {"node { attr { value { f: x } } }", "expected a number, found 'x'"},
      {"node { attr { value { f: 0x10 } } }", "expected a decimal number, found '0x10'"},
      {"node { attr { value { f: 1e } } }", "expected a decimal number, found '1e'"},
      {"[tensorflow.ext]: 5",
       "1:1: GraphDef: extensions and expanded Any messages are not supported"},
      {"5: 10", "expected a field name, found '5'"},
      {"\x01", "expected a field name, found a character that begins nothing"},
  };
  for (const BadText& c : cases) {
    const Result<OwnedMessage> got = ParseText(pb::GraphDef::Descriptor(), c.text);
    ASSERT_FALSE(got.ok()) << c.text;
    EXPECT_EQ(got.status().code(), Code::kInvalidArgument) << c.text;
    EXPECT_THAT(std::string(got.status().message()), HasSubstr(c.message)) << c.text;
  }
  EXPECT_FALSE(ParseText(pb::TensorProto::Descriptor(), "uint32_val: -1").ok());
  EXPECT_TRUE(ParseText(pb::TensorProto::Descriptor(), "uint32_val: 4294967295").ok());
  EXPECT_FALSE(ParseText(pb::TensorProto::Descriptor(), "uint32_val: 4294967296").ok());
  EXPECT_FALSE(ParseText(pb::TensorProto::Descriptor(), "uint64_val: 18446744073709551616").ok());
}

TEST(TextFormatTest, NestingIsLimited) {
  for (int levels : {kMaxMessageDepth / 2 + 1, 10000}) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += "list_value { values {";
    const Result<OwnedMessage> got = ParseText(pb::StructuredValue::Descriptor(), text);
    ASSERT_FALSE(got.ok());
    EXPECT_THAT(std::string(got.status().message()), HasSubstr("nested more than 100 deep"));
  }
  std::string text;
  for (int i = 0; i < kMaxMessageDepth / 2; ++i) text += "list_value { values {";
  for (int i = 0; i < kMaxMessageDepth / 2; ++i) text += "} }";
  const OwnedMessage fits = Parsed(pb::StructuredValue::Descriptor(), text);
  Message* inner = fits.get();
  for (int i = 0; i < 200; ++i) {
    inner = inner->Mutable(pb::StructuredValue::kListValue)->Add(pb::ListValue::kValues);
  }
  EXPECT_EQ(PrintText(*fits).status().code(), Code::kInvalidArgument);
}

TEST(TextFormatTest, RandomDamageNeverHarms) {
  const std::string seed =
      ReadGolden(std::string(THALWEG_GOLDEN_DIR) + "/graphs/2.21/queues.pbtxt");
  ASSERT_FALSE(seed.empty());
  std::mt19937 random(20240608);
  constexpr std::string_view kChars = "{}<>[]:,;-.\"'\\#0x9e \n";
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed;
    const size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text.erase(at, 1 + random() % 8);
        break;
      case 1:
        text[at] = static_cast<char>(random());
        break;
      case 2:
        text.insert(at, 1, kChars[random() % kChars.size()]);
        break;
      default:
        text[at] = kChars[random() % kChars.size()];
    }
    const Result<OwnedMessage> got = ParseText(pb::GraphDef::Descriptor(), text);
    if (!got.ok()) continue;
    ++accepted;
    const std::string once = Printed(**got);
    const OwnedMessage again = Parsed(pb::GraphDef::Descriptor(), once);
    ASSERT_TRUE(again->Equals(**got)) << round;
    ASSERT_EQ(Printed(*again), once) << round;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace thalweg
