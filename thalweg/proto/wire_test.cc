// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "thalweg/proto/test_golden_files.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

OwnedMessage ParsedWire(const MessageDescriptor& type, std::string bytes) {
  Result<OwnedMessage> message = ParseMessage(type, std::move(bytes));
  EXPECT_TRUE(message.ok()) << message.status().ToString();
  return message.ok() ? *std::move(message) : OwnedMessage(type);
}

std::string Bytes(const Message& message) {
  Result<std::string> bytes = Serialize(message);
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  return bytes.ok() ? *bytes : "";
}

TEST(WireTest, GoldenMessagesSurviveARoundTrip) {
  const std::vector<GoldenFile> files = GoldenFiles(/*with_text=*/false);
  ASSERT_GE(files.size(), 60u);
  for (const GoldenFile& file : files) {
    const std::string bytes = ReadGolden(file.path);
    const OwnedMessage message = ParsedWire(*file.type, bytes);
    const std::string again = Bytes(*message);
    // Map entries may change places, nothing may change size.
    EXPECT_EQ(again.size(), bytes.size()) << file.name;
    EXPECT_TRUE(ParsedWire(*file.type, again)->Equals(*message)) << file.name;
    EXPECT_EQ(Bytes(*Clone(*message)), again) << file.name;
  }
}

TEST(WireTest, AllWireTypesRoundTrip) {
  OwnedMessage tensor(pb::TensorProto::Descriptor());
  tensor->SetInt(pb::TensorProto::kDtype, pb::DataType::DT_FLOAT);
  tensor->SetInt(pb::TensorProto::kVersionNumber, -1);
  tensor->AddFloat(pb::TensorProto::kFloatVal, 1.5f);
  tensor->AddDouble(pb::TensorProto::kDoubleVal, -2.5);
  tensor->AddInt(pb::TensorProto::kIntVal, -7);
  tensor->AddInt(pb::TensorProto::kInt64Val, INT64_MIN);
  tensor->AddBool(pb::TensorProto::kBoolVal, true);
  tensor->AddUint(pb::TensorProto::kUint32Val, UINT32_MAX);
  tensor->AddUint(pb::TensorProto::kUint64Val, UINT64_MAX);
  tensor->AddString(pb::TensorProto::kStringVal, "\xff\0x"s);
  tensor->AddString(pb::TensorProto::kStringVal, "");
  const OwnedMessage again = ParsedWire(pb::TensorProto::Descriptor(), Bytes(*tensor));
  EXPECT_TRUE(again->Equals(*tensor));
  EXPECT_EQ(again->GetInt(pb::TensorProto::kVersionNumber), -1);
  EXPECT_THAT(again->Repeated<int32_t>(pb::TensorProto::kIntVal), ElementsAre(-7));
  EXPECT_THAT(again->Repeated<std::string_view>(pb::TensorProto::kStringVal),
              ElementsAre("\xff\0x"s, ""));

  OwnedMessage slot(pb::BundleEntryProto::Descriptor());
  slot->SetUint(pb::BundleEntryProto::kCrc32c, 0x01020304);
  EXPECT_EQ(Bytes(*slot), "\x35\x04\x03\x02\x01");
}

TEST(WireTest, PackedAndUnpackedAreBothRead) {
  const MessageDescriptor& type = pb::TensorProto::Descriptor();
  const OwnedMessage mixed =
      ParsedWire(type, "\x38\x01\x3a\x02\x02\x03\x38\x04\x2d\0\0\x80\x3f\x2a\x04\0\0\0\x40"s);
  EXPECT_THAT(mixed->Repeated<int32_t>(pb::TensorProto::kIntVal), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(mixed->Repeated<float>(pb::TensorProto::kFloatVal), ElementsAre(1.0f, 2.0f));
  EXPECT_EQ(Bytes(*mixed), "\x2a\x08\0\0\x80\x3f\0\0\0\x40\x3a\x04\x01\x02\x03\x04"s);
  EXPECT_EQ(Bytes(*ParsedWire(type, "\x3a\x00"s)), "") << "an empty packed list is absent";
}

TEST(WireTest, LastSingularValueWinsAndMessagesMerge) {
  const MessageDescriptor& type = pb::AttrValue::Descriptor();
  EXPECT_EQ(ParsedWire(type, "\x18\x01\x18\x02")->GetInt(pb::AttrValue::kI), 2);
  // shape{unknown_rank} twice with another member between: the first is lost.
  const OwnedMessage shape = ParsedWire(type, "\x3a\x02\x12\x00\x18\x07\x3a\x02\x18\x01"s);
  EXPECT_EQ(shape->WhichOneof(pb::AttrValue::kI)->name, "shape");
  EXPECT_EQ(shape->GetMessage(pb::AttrValue::kShape).Size(pb::TensorShapeProto::kDim), 0u);
  const OwnedMessage merged = ParsedWire(type, "\x3a\x02\x12\x00\x3a\x02\x18\x01"s);
  EXPECT_EQ(merged->GetMessage(pb::AttrValue::kShape).Size(pb::TensorShapeProto::kDim), 1u);
  EXPECT_TRUE(
      merged->GetMessage(pb::AttrValue::kShape).GetBool(pb::TensorShapeProto::kUnknownRank));
}

TEST(WireTest, MapEntriesAreSortedUniqueAndComplete) {
  // attr entries: "b"->i:1, "a"->(no value), "b"->i:2, and one without key.
  const OwnedMessage node = ParsedWire(pb::NodeDef::Descriptor(),
                                       "\x2a\x07\x0a\x01"
                                       "b\x12\x02\x18\x01\x2a\x03\x0a\x01"
                                       "a\x2a\x07\x0a\x01"
                                       "b\x12\x02\x18\x02\x2a\x04\x12\x02\x18\x03"s);
  ASSERT_EQ(node->Size(pb::NodeDef::kAttr), 3u);
  EXPECT_EQ(node->MapFind(pb::NodeDef::kAttr, "b")->GetInt(pb::AttrValue::kI), 2);
  EXPECT_EQ(node->MapFind(pb::NodeDef::kAttr, "")->GetInt(pb::AttrValue::kI), 3);
  EXPECT_EQ(Bytes(*node),
            "\x2a\x06\x0a\x00\x12\x02\x18\x03\x2a\x05\x0a\x01"
            "a\x12\x00\x2a\x07\x0a\x01"
            "b\x12\x02\x18\x02"s);
}

TEST(WireTest, MapInAMessageThatComesInPieces) {
  std::string pieces;
  for (int i = 0; i < 3; ++i) {
    std::string entry;
    AppendTag(entry, pb::kMapKey, WireType::kLengthDelimited);
    AppendBytes(entry, std::string(1, static_cast<char>('c' - i)));
    std::string list;
    AppendTag(list, pb::NameAttrList::kAttr, WireType::kLengthDelimited);
    AppendBytes(list, entry);
    AppendTag(pieces, pb::AttrValue::kFunc, WireType::kLengthDelimited);
    AppendBytes(pieces, list);
  }
  const OwnedMessage value = ParsedWire(pb::AttrValue::Descriptor(), pieces);
  const Message& func = value->GetMessage(pb::AttrValue::kFunc);
  ASSERT_EQ(func.Size(pb::NameAttrList::kAttr), 3u);
  for (const char* key : {"a", "b", "c"})
    EXPECT_NE(func.MapFind(pb::NameAttrList::kAttr, key), nullptr) << key;
}

TEST(WireTest, UnknownFieldsAreKeptByteForByte) {
  // Known number with another wire type, unknown varint (overlong), fixed, bytes, a group with a
  // group inside.
  const std::string unknown =
      "\x0d"
      "abcd"
      "\xf8\x07\x81\x00\xfd\x07"
      "wxyz"
      "\xfa\x07\x02hi\xfb\x07\x08\x01\x13\x14\xfc\x07"s;
  const OwnedMessage node = ParsedWire(pb::NodeDef::Descriptor(),
                                       unknown.substr(0, 5) + "\x0a\x01n"s + unknown.substr(5));
  EXPECT_EQ(node->GetString(pb::NodeDef::kName), "n");
  EXPECT_EQ(node->unknown_fields(), unknown);
  EXPECT_EQ(Bytes(*node), "\x0a\x01n"s + unknown);
  const OwnedMessage copy = Clone(*node);
  EXPECT_EQ(Bytes(*copy), Bytes(*node));
  copy->ClearUnknownFields();
  EXPECT_EQ(Bytes(*copy), "\x0a\x01n");
}

TEST(WireTest, BorrowedParsePointsIntoTheInput) {
  const std::string bytes = "\x0a\x04name";
  ParseOptions options;
  options.borrow = true;
  const OwnedMessage node = *ParseMessage(pb::NodeDef::Descriptor(), bytes, options);
  EXPECT_EQ(node->GetString(pb::NodeDef::kName).data(), bytes.data() + 2);
  const OwnedMessage copied = *ParseMessage(pb::NodeDef::Descriptor(), std::string_view(bytes));
  EXPECT_NE(copied->GetString(pb::NodeDef::kName).data(), bytes.data() + 2);
}

struct BadInput {
  const char* what;
  std::string bytes;
  const char* message;
};

TEST(WireTest, MalformedInputIsRefusedWithPlace) {
  const std::vector<BadInput> cases = {
      {"tag of zero", "\0"s, "GraphDef at byte 0: expected a field tag"},
      {"truncated tag", "\x0a\x00\x80"s, "GraphDef at byte 2: expected a field tag"},
      {"tag beyond 32 bits", "\x80\x80\x80\x80\x80\x01"s, "at byte 0: expected a field tag"},
      {"truncated length", "\x0a\x80"s, "GraphDef.node at byte 1: its length"},
      {"length beyond the end", "\x0a\x02\x0a"s, "GraphDef.node at byte 1: its length"},
      {"length of 2^63", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"s,
       "GraphDef.node at byte 1: its length"},
      {"string beyond its message", "\x0a\x02\x0a\x01n"s,
       "GraphDef.node[0].name at byte 3: its length"},
      {"varint of 11 bytes", "\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s,
       "GraphDef.version at byte 1"},
      {"truncated varint", "\x18\xff"s, "GraphDef.version at byte 1: expected a value"},
      {"text that is not UTF-8", "\x0a\x04\x0a\x02\xc3\x28"s,
       "GraphDef.node[0].name at byte 3: expected UTF-8"},
      {"overlong UTF-8", "\x0a\x04\x0a\x02\xc0\x80"s, "expected UTF-8"},
      {"UTF-8 surrogate", "\x0a\x05\x0a\x03\xed\xa0\x80"s, "expected UTF-8"},
      {"end of a group that did not begin", "\x0c"s, "GraphDef at byte 0: field 1 of wire type 4"},
      {"group without end", "\x0b\x08\x01"s, "field 1 of wire type 3"},
      {"group with another end", "\x0b\x14"s, "field 1 of wire type 3"},
      {"wire type 6", "\x0e"s, "field 1 of wire type 6"},
      {"bad attr", "\x0a\x0c\x2a\x0a\x0a\x05value\x12\x01\x18"s,
       "GraphDef.node[0].attr[\"value\"].value.i at byte 14: expected a value"},
      {"packed fixed of odd size",
       "\x0a\x0d\x2a\x0b\x12\x09\x42\x07\x2a\x05"
       "12345"s,
       "tensor.float_val at byte 9: expected packed values of 4 bytes, found 5 bytes"},
      {"packed varint cut off", "\x0a\x0b\x2a\x09\x12\x07\x42\x05\x3a\x03\x01\x02\x80"s,
       "tensor.int_val at byte 12: expected a packed varint"},
  };
  for (const BadInput& c : cases) {
    const Result<OwnedMessage> got =
        ParseMessage(pb::GraphDef::Descriptor(), std::string_view(c.bytes));
    ASSERT_FALSE(got.ok()) << c.what;
    EXPECT_EQ(got.status().code(), Code::kInvalidArgument) << c.what;
    EXPECT_THAT(std::string(got.status().message()), HasSubstr(c.message)) << c.what;
  }
}

TEST(WireTest, AFailedListLeavesNoGarbage) {
  OwnedMessage tensor(pb::TensorProto::Descriptor());
  // Three packed values of which the second is a varint of 11 bytes.
  const std::string bytes = "\x3a\x0d\x05\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x06"s;
  EXPECT_FALSE(MergeFromBytes(*tensor, bytes).ok());
  EXPECT_THAT(tensor->Repeated<int32_t>(pb::TensorProto::kIntVal), ElementsAre(5));
}

// A ListValue in a ListValue in a ...; written from the inside, so that 10,000 levels stay quick.
std::string NestedLists(int levels) {
  std::string reversed;
  for (int i = 0; i < levels; ++i) {
    std::string head;
    AppendTag(head, pb::StructuredValue::kListValue, WireType::kLengthDelimited);
    std::string list;
    AppendTag(list, pb::ListValue::kValues, WireType::kLengthDelimited);
    std::string inner_size;
    AppendVarint(inner_size, reversed.size());
    AppendVarint(head, list.size() + inner_size.size() + reversed.size());
    std::string all = head + list + inner_size;
    reversed.append(all.rbegin(), all.rend());
  }
  return {reversed.rbegin(), reversed.rend()};
}

TEST(WireTest, NestingIsLimited) {
  const MessageDescriptor& type = pb::StructuredValue::Descriptor();
  const OwnedMessage fits = ParsedWire(type, NestedLists(kMaxMessageDepth / 2));
  EXPECT_EQ(Bytes(*fits), NestedLists(kMaxMessageDepth / 2));
  for (int levels : {kMaxMessageDepth / 2 + 1, 10000}) {
    const Result<OwnedMessage> deep = ParseMessage(type, NestedLists(levels));
    ASSERT_FALSE(deep.ok()) << levels;
    EXPECT_EQ(deep.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(deep.status().message()), HasSubstr("nested more than 100 deep"));
  }
  // As unknown fields nothing is nested; groups are.
  EXPECT_TRUE(ParseMessage(pb::VersionDef::Descriptor(), NestedLists(10000)).ok());
  EXPECT_FALSE(ParseMessage(pb::VersionDef::Descriptor(), std::string(10000, '\x63')).ok());
}

TEST(WireTest, TreesMadeTooDeepAreNotWrittenAndDoNoHarm) {
  OwnedMessage root(pb::StructuredValue::Descriptor());
  Message* inner = root.get();
  for (int i = 0; i < 200000; ++i) {
    inner = inner->Mutable(pb::StructuredValue::kListValue)->Add(pb::ListValue::kValues);
  }
  EXPECT_EQ(Serialize(*root).status().code(), Code::kInvalidArgument);
  const OwnedMessage copy = Clone(*root);
  EXPECT_TRUE(copy->Equals(*root));
  copy->ClearUnknownFields();
}

TEST(WireTest, SizeAndMemoryAreLimited) {
  ParseOptions options;
  options.max_bytes = 3;
  EXPECT_EQ(ParseMessage(pb::NodeDef::Descriptor(), std::string_view("\x0a\x02no", 4), options)
                .status()
                .code(),
            Code::kResourceExhausted);
  // Empty TensorProtos: two bytes each on the wire.
  std::string many;
  for (int i = 0; i < 100000; ++i) many += "\x42\x00"s;
  options = ParseOptions();
  options.max_memory = 1 << 20;
  const Result<OwnedMessage> got =
      ParseMessage(pb::AttrValue::ListValue::Descriptor(), many + many, options);
  EXPECT_TRUE(ParseMessage(pb::AttrValue::ListValue::Descriptor(), many + many).ok());
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), Code::kResourceExhausted);
  std::string packed = "\x3a";
  AppendBytes(packed, std::string(1 << 20, '\x01'));
  EXPECT_EQ(ParseMessage(pb::TensorProto::Descriptor(), packed, options).status().code(),
            Code::kResourceExhausted);
}

TEST(WireTest, RandomDamageNeverHarms) {
  const std::string seed =
      ReadGolden(std::string(THALWEG_GOLDEN_DIR) + "/graphs/2.21/functions_defun.pb");
  ASSERT_FALSE(seed.empty());
  std::mt19937 random(20240607);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = seed.substr(random() % 64 == 0 ? random() % seed.size() : 0);
    for (size_t changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
      const size_t at = random() % bytes.size();
      if (random() % 4 == 0) {
        bytes.erase(at, 1 + random() % 8);
      } else {
        bytes[at] = static_cast<char>(random());
      }
    }
    const Result<OwnedMessage> got =
        ParseMessage(pb::GraphDef::Descriptor(), std::string_view(bytes));
    if (!got.ok()) continue;
    ++accepted;
    const std::string once = Bytes(**got);
    const OwnedMessage again = ParsedWire(pb::GraphDef::Descriptor(), once);
    ASSERT_TRUE(again->Equals(**got)) << round;
    ASSERT_EQ(Bytes(*again), once) << round;
  }
  EXPECT_GT(accepted, 300);
}

TEST(WireReaderTest, ReadsWhatWasAppended) {
  std::string bytes;
  AppendVarint(bytes, UINT64_MAX);
  AppendTag(bytes, 3, WireType::kFixed32);
  AppendFixed32(bytes, 0xdeadbeef);
  AppendFixed64(bytes, 0x0123456789abcdef);
  AppendBytes(bytes, "hi");
  WireReader in(bytes);
  uint64_t u64;
  uint32_t u32;
  std::string_view text;
  ASSERT_TRUE(in.ReadVarint(&u64));
  EXPECT_EQ(u64, UINT64_MAX);
  ASSERT_TRUE(in.ReadTag(&u32));
  EXPECT_EQ(WireFieldNumber(u32), 3u);
  EXPECT_EQ(WireTypeOf(u32), WireType::kFixed32);
  ASSERT_TRUE(in.ReadFixed32(&u32));
  EXPECT_EQ(u32, 0xdeadbeef);
  ASSERT_TRUE(in.ReadFixed64(&u64));
  EXPECT_EQ(u64, 0x0123456789abcdefu);
  ASSERT_TRUE(in.ReadBytes(&text));
  EXPECT_EQ(text, "hi");
  EXPECT_TRUE(in.AtEnd());
}

TEST(WireReaderTest, FailedReadsStayInPlace) {
  uint64_t u64;
  uint32_t u32;
  std::string_view text;
  const std::string bytes = "\x85\x80"s;
  WireReader in(bytes);
  EXPECT_FALSE(in.ReadVarint(&u64));
  EXPECT_FALSE(in.ReadTag(&u32));
  EXPECT_FALSE(in.ReadFixed32(&u32));
  EXPECT_FALSE(in.ReadBytes(&text));
  EXPECT_FALSE(in.Skip(WireTag(1, WireType::kFixed64)));
  EXPECT_FALSE(in.Skip(WireTag(1, WireType::kStartGroup)));
  EXPECT_EQ(in.offset(), 0u);
  for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(ZigZagDecode(ZigZagEncode(value)), value);
  }
  EXPECT_EQ(ZigZagEncode(-1), 1u);
}

}  // namespace
}  // namespace thalweg
