// SPDX-License-Identifier: Apache-2.0
// What a message of N bytes may take, for every field of every type.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "thalweg/proto/wire.h"
#include "thalweg/testing/hostile_bytes.h"

namespace thalweg {
namespace {

// README.md promises this.
constexpr size_t kMostPerByte = 512;
constexpr size_t kMostBeside = size_t{64} << 10;

int HostileWireType(FieldType type) {
  switch (type) {
    case FieldType::kDouble:
    case FieldType::kFixed64:
    case FieldType::kSfixed64:
      return 1;
    case FieldType::kFloat:
    case FieldType::kFixed32:
    case FieldType::kSfixed32:
      return 5;
    case FieldType::kString:
    case FieldType::kBytes:
    case FieldType::kMessage:
      return 2;
    default:
      return 0;
  }
}

// What costs most of what a field can be: as many elements as there are bytes, or a length that
// is not there.
std::vector<std::string> HostileBytes(const FieldDescriptor& field) {
  const int wire_type = HostileWireType(field.type);
  std::vector<std::string> made;
  const std::string delimited = HostileTag(field.number, 2);
  for (const uint64_t length : {uint64_t{1} << 31, uint64_t{1} << 62, ~uint64_t{0}}) {
    std::string claim = delimited;
    AppendHostileVarint(claim, length);
    made.push_back(claim);
    made.push_back(claim + std::string(100, '\0'));
  }
  made.push_back(HostileRun(delimited + '\0'));
  if (wire_type == 0) made.push_back(HostileRun(HostileTag(field.number, 0) + '\1'));
  if (wire_type == 1)
    made.push_back(HostileRun(HostileTag(field.number, 1) + std::string(8, '\1')));
  if (wire_type == 5)
    made.push_back(HostileRun(HostileTag(field.number, 5) + std::string(4, '\1')));
  made.push_back(HostilePacked(field));
  if (field.map) made.push_back(HostileEntries(field));
  return made;
}

TEST(ParseMemoryTest, NoFieldTakesMoreThanAMultipleOfItsBytes) {
  for (const MessageDescriptor& type : MessageTypes()) {
    for (const FieldDescriptor& field : type.fields) {
      for (const std::string& bytes : HostileBytes(field)) {
        const ParseOptions options = {.max_memory = kMostPerByte * bytes.size() + kMostBeside};
        const Result<OwnedMessage> message = ParseMessage(type, std::string_view(bytes), options);
        EXPECT_TRUE(message.ok() || message.status().code() == Code::kInvalidArgument)
            << type.full_name << "." << field.name << ": " << message.status().ToString();
      }
    }
  }
}

// That the measure can fail: a tree is not as small as its bytes.
TEST(ParseMemoryTest, TheMeasureCounts) {
  const MessageDescriptor& type = *FindMessageType("tensorflow.GraphDef");
  const std::string bytes = HostileRun(HostileTag(type.FindByName("node")->number, 2) + '\0');
  EXPECT_EQ(
      ParseMessage(type, std::string_view(bytes), {.max_memory = 4 * bytes.size()}).status().code(),
      Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg
