// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace thalweg {
namespace {

using ::testing::ElementsAre;

TEST(DescriptorTest, TablesAgreeWithThemselves) {
  EXPECT_EQ(MessageTypes().size(), 267u);
  EXPECT_EQ(EnumTypes().size(), 25u);
  for (const MessageDescriptor& type : MessageTypes()) {
    EXPECT_EQ(FindMessageType(type.full_name), &type);
    EXPECT_EQ(&type.default_instance->type(), &type);
    for (const FieldDescriptor& field : type.fields) {
      EXPECT_EQ(type.FindByName(field.name), &field);
      EXPECT_EQ(type.FindByNumber(field.number), &field) << type.full_name << "." << field.name;
      EXPECT_EQ(&type.fields[field.index], &field);
      EXPECT_EQ(field.parent, &type);
      EXPECT_LE(field.offset + 8, type.body_size);
      EXPECT_EQ(field.message != nullptr, field.type == FieldType::kMessage);
      EXPECT_EQ(field.enumeration != nullptr, field.type == FieldType::kEnum);
      EXPECT_EQ(field.map, field.message != nullptr && field.message->map_entry);
    }
  }
  EXPECT_EQ(FindMessageType("tensorflow.Nothing"), nullptr);
  EXPECT_EQ(pb::RewriterConfig::Descriptor().FindByNumber(299), nullptr);
  EXPECT_EQ(pb::RewriterConfig::Descriptor().FindByNumber(300)->name,
            "inter_optimizer_verifier_config");
  EXPECT_EQ(pb::DataType::Descriptor().FindByName("DT_FLOAT")->number, pb::DataType::DT_FLOAT);
  EXPECT_EQ(pb::DataType::Descriptor().FindByNumber(101)->name, "DT_FLOAT_REF");
  EXPECT_EQ(pb::DataType::Descriptor().FindByNumber(99), nullptr);
  EXPECT_EQ(pb::AttrValue::ListValue::Descriptor().short_name(), "AttrValue.ListValue");
}

TEST(MessageTest, ExampleOfTheHeader) {
  OwnedMessage graph(pb::GraphDef::Descriptor());
  Message* node = graph->Add(pb::GraphDef::kNode);
  node->SetString(pb::NodeDef::kName, "a");
  node->MapMutable(pb::NodeDef::kAttr, "T")->SetInt(pb::AttrValue::kType, pb::DataType::DT_FLOAT);
  std::vector<std::string_view> names;
  for (const Message* n : graph->Messages(pb::GraphDef::kNode))
    names.push_back(n->GetString(pb::NodeDef::kName));
  EXPECT_THAT(names, ElementsAre("a"));
  EXPECT_EQ(node->MapFind(pb::NodeDef::kAttr, "T")->GetInt(pb::AttrValue::kType), 1);
  EXPECT_EQ(node->MapFind(pb::NodeDef::kAttr, "U"), nullptr);
}

TEST(MessageTest, AbsentFieldsGiveDefaults) {
  const OwnedMessage node(pb::NodeDef::Descriptor());
  EXPECT_EQ(node->GetString(pb::NodeDef::kName), "");
  EXPECT_FALSE(node->Has(pb::NodeDef::kExperimentalDebugInfo));
  EXPECT_EQ(node->FindMessage(pb::NodeDef::kExperimentalDebugInfo), nullptr);
  const Message& info = node->GetMessage(pb::NodeDef::kExperimentalDebugInfo);
  EXPECT_EQ(info.Size(pb::NodeDef::ExperimentalDebugInfo::kOriginalNodeNames), 0u);
  EXPECT_TRUE(node->Messages(pb::NodeDef::kAttr).empty());
  EXPECT_EQ(node->FindEntry(pb::NodeDef::kAttr, "x"), nullptr);
}

TEST(MessageTest, ZeroWithoutPresenceIsAbsent) {
  OwnedMessage version(pb::VersionDef::Descriptor());
  version->SetInt(pb::VersionDef::kProducer, 3);
  EXPECT_TRUE(version->Has(pb::VersionDef::kProducer));
  version->SetInt(pb::VersionDef::kProducer, 0);
  EXPECT_FALSE(version->Has(pb::VersionDef::kProducer));
  OwnedMessage summary(pb::Summary::Value::Descriptor());
  summary->SetFloat(pb::Summary::Value::kSimpleValue, 0);
  EXPECT_TRUE(summary->Has(pb::Summary::Value::kSimpleValue)) << "a oneof member has presence";
  OwnedMessage line(pb::GraphDebugInfo::FileLineCol::Descriptor());
  line->SetInt(pb::GraphDebugInfo::FileLineCol::kLine, 0);
  EXPECT_TRUE(line->Has(pb::GraphDebugInfo::FileLineCol::kLine)) << "so has every proto2 field";
  OwnedMessage histogram(pb::HistogramProto::Descriptor());
  histogram->SetDouble(pb::HistogramProto::kMin, -0.0);
  EXPECT_TRUE(histogram->Has(pb::HistogramProto::kMin)) << "minus zero is not zero";
}

TEST(MessageTest, OneofKeepsTheLastMember) {
  OwnedMessage value(pb::AttrValue::Descriptor());
  EXPECT_EQ(value->WhichOneof(pb::AttrValue::kI), nullptr);
  value->SetString(pb::AttrValue::kS, "x");
  value->Mutable(pb::AttrValue::kShape)->SetBool(pb::TensorShapeProto::kUnknownRank, true);
  value->SetInt(pb::AttrValue::kI, 0);
  EXPECT_EQ(value->WhichOneof(pb::AttrValue::kS)->number, static_cast<uint32_t>(pb::AttrValue::kI));
  EXPECT_FALSE(value->Has(pb::AttrValue::kS));
  EXPECT_EQ(value->GetString(pb::AttrValue::kS), "");
  EXPECT_FALSE(
      value->GetMessage(pb::AttrValue::kShape).GetBool(pb::TensorShapeProto::kUnknownRank));
  value->Clear(pb::AttrValue::kS);
  EXPECT_TRUE(value->Has(pb::AttrValue::kI)) << "clearing another member changes nothing";
  EXPECT_FALSE(value->Mutable(pb::AttrValue::kShape)->Has(pb::TensorShapeProto::kUnknownRank))
      << "a fresh message";
}

TEST(MessageTest, NarrowFieldsConvertAsCppDoes) {
  OwnedMessage version(pb::VersionDef::Descriptor());
  version->SetInt(pb::VersionDef::kProducer, (int64_t{1} << 32) + 5);
  EXPECT_EQ(version->GetInt(pb::VersionDef::kProducer), 5);
  version->SetInt(pb::VersionDef::kProducer, -5);
  EXPECT_EQ(version->GetInt(pb::VersionDef::kProducer), -5);
}

TEST(MessageTest, RepeatedFieldsGrowAndShrink) {
  OwnedMessage tensor(pb::TensorProto::Descriptor());
  std::vector<int64_t> expected;
  for (int i = 0; i < 1000; ++i) {
    tensor->AddInt(pb::TensorProto::kInt64Val, i);
    if (i % 3 == 0) tensor->AddString(pb::TensorProto::kStringVal, std::to_string(i));
    expected.push_back(i);
  }
  EXPECT_THAT(tensor->Repeated<int64_t>(pb::TensorProto::kInt64Val),
              ::testing::ElementsAreArray(expected));
  tensor->Erase(pb::TensorProto::kInt64Val, 1, 999);
  EXPECT_THAT(tensor->Repeated<int64_t>(pb::TensorProto::kInt64Val), ElementsAre(0, 999));
  tensor->MutableRepeated<int64_t>(pb::TensorProto::kInt64Val)[0] = 7;
  tensor->Append<int64_t>(pb::TensorProto::kInt64Val, expected);
  EXPECT_EQ(tensor->Size(pb::TensorProto::kInt64Val), 1002u);
  EXPECT_EQ(tensor->Repeated<int64_t>(pb::TensorProto::kInt64Val)[0], 7);
  tensor->Erase(pb::TensorProto::kInt64Val, 0, 1002);
  EXPECT_FALSE(tensor->Has(pb::TensorProto::kInt64Val));
  EXPECT_EQ(tensor->Repeated<std::string_view>(pb::TensorProto::kStringVal)[333], "999");
}

TEST(MessageTest, MapsStaySortedAndUnique) {
  OwnedMessage node(pb::NodeDef::Descriptor());
  std::set<std::string> keys;
  for (int i = 0; i < 200; ++i) {
    const std::string key = std::to_string(i * 7919 % 100);
    node->MapMutable(pb::NodeDef::kAttr, key)->SetInt(pb::AttrValue::kI, i);
    keys.insert(key);
  }
  std::vector<std::string_view> found;
  for (const Message* entry : node->Messages(pb::NodeDef::kAttr))
    found.push_back(entry->GetString(pb::kMapKey));
  EXPECT_THAT(found, ::testing::ElementsAreArray(keys));
  EXPECT_TRUE(node->EraseEntry(pb::NodeDef::kAttr, "50"));
  EXPECT_FALSE(node->EraseEntry(pb::NodeDef::kAttr, "50"));
  EXPECT_EQ(node->MapFind(pb::NodeDef::kAttr, "50"), nullptr);
  EXPECT_EQ(node->Size(pb::NodeDef::kAttr), 99u);

  OwnedMessage job(pb::JobDef::Descriptor());
  for (int task : {3, -1, 0})
    job->MutableEntry(pb::JobDef::kTasks, task)->SetString(pb::kMapValue, "host");
  std::vector<int64_t> tasks;
  for (const Message* entry : job->Messages(pb::JobDef::kTasks))
    tasks.push_back(entry->GetInt(pb::kMapKey));
  EXPECT_THAT(tasks, ElementsAre(-1, 0, 3)) << "numbers, not text";
  EXPECT_NE(job->FindEntry(pb::JobDef::kTasks, int64_t{-1}), nullptr);
}

TEST(MessageTest, MergeCopyAndCompare) {
  OwnedMessage a(pb::NodeDef::Descriptor());
  a->SetString(pb::NodeDef::kName, "a");
  a->AddString(pb::NodeDef::kInput, "x");
  a->MapMutable(pb::NodeDef::kAttr, "k")->SetInt(pb::AttrValue::kI, 1);
  a->MapMutable(pb::NodeDef::kAttr, "l")->SetFloat(pb::AttrValue::kF, NAN);
  OwnedMessage b(pb::NodeDef::Descriptor());
  b->SetString(pb::NodeDef::kOp, "Op");
  b->AddString(pb::NodeDef::kInput, "y");
  b->MapMutable(pb::NodeDef::kAttr, "k")->SetString(pb::AttrValue::kS, "new");
  b->MapMutable(pb::NodeDef::kAttr, "a");
  a->MergeFrom(*b);
  EXPECT_EQ(a->GetString(pb::NodeDef::kName), "a");
  EXPECT_EQ(a->GetString(pb::NodeDef::kOp), "Op");
  EXPECT_THAT(a->Repeated<std::string_view>(pb::NodeDef::kInput), ElementsAre("x", "y"));
  EXPECT_EQ(a->Size(pb::NodeDef::kAttr), 3u);
  EXPECT_EQ(a->MapFind(pb::NodeDef::kAttr, "k")->GetString(pb::AttrValue::kS), "new");
  OwnedMessage c = Clone(*a);
  EXPECT_TRUE(c->Equals(*a));
  c->MapMutable(pb::NodeDef::kAttr, "k")->SetString(pb::AttrValue::kS, "other");
  EXPECT_FALSE(c->Equals(*a));
  EXPECT_FALSE(b->Equals(*a));
  c->CopyFrom(*b);
  EXPECT_TRUE(c->Equals(*b));
  c->CopyFrom(*c);
  EXPECT_TRUE(c->Equals(*b));
}

TEST(MessageTest, CopiesDoNotPointIntoTheOriginal) {
  OwnedMessage copy;
  {
    OwnedMessage node(pb::NodeDef::Descriptor());
    node->SetString(pb::NodeDef::kName, std::string(2000, 'n'));
    node->AddString(pb::NodeDef::kInput, std::string(2000, 'i'));
    node->MapMutable(pb::NodeDef::kAttr, std::string(2000, 'k'))->SetString(pb::AttrValue::kS, "v");
    copy = Clone(*node);
  }
  EXPECT_EQ(copy->GetString(pb::NodeDef::kName), std::string(2000, 'n'));
  EXPECT_EQ(copy->MapFind(pb::NodeDef::kAttr, std::string(2000, 'k'))->GetString(pb::AttrValue::kS),
            "v");
}

TEST(MessageTest, ReplacedValuesStayReadable) {
  OwnedMessage node(pb::NodeDef::Descriptor());
  node->SetString(pb::NodeDef::kName, "first");
  const std::string_view first = node->GetString(pb::NodeDef::kName);
  Message* info = node->Mutable(pb::NodeDef::kExperimentalDebugInfo);
  node->Clear();
  node->SetString(pb::NodeDef::kName, "second");
  EXPECT_EQ(first, "first");
  EXPECT_EQ(info->Size(pb::NodeDef::ExperimentalDebugInfo::kOriginalNodeNames), 0u);
}

TEST(MessageDeathTest, WrongFieldIsABugOfTheCaller) {
  const OwnedMessage node(pb::NodeDef::Descriptor());
  EXPECT_DEATH(node->GetString(99), "CHECK");
  EXPECT_DEATH(node->GetInt(pb::NodeDef::kName), "CHECK");
  EXPECT_DEATH(node->GetString(pb::NodeDef::kInput), "CHECK");
  EXPECT_DEATH(node->Repeated<int64_t>(pb::NodeDef::kInput), "CHECK");
  EXPECT_DEATH(node->GetString(*pb::GraphDef::Descriptor().FindByName("node")), "CHECK");
}

}  // namespace
}  // namespace thalweg
