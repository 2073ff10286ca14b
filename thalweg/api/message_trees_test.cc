// SPDX-License-Identifier: Apache-2.0
// Messages of any type through the C ABI, field by field, and calls with wrong arguments.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "thalweg/thalweg.h"

namespace {

// NodeDef { name: "x" input: "a" input: "b" attr { key: "T" value { type: DT_INT32 } } }, and field
// 1011 of "hi", which it does not have.
constexpr std::string_view kNode(
    "\x0a\x01x\x1a\x01"
    "a\x1a\x01"
    "b\x2a\x07\x0a\x01T\x12\x02\x30\x03\x9a\x3f\x02hi",
    23);

std::string Text(const TwMessageField& field, size_t i) {
  size_t size = 0;
  const char* text = tw_message_text(&field, i, &size);
  return text == nullptr ? "none" : std::string(text, size);
}

TEST(MessageTreesTest, FieldsComeByNumber) {
  TwMessage* message = tw_message_parse("tensorflow.NodeDef", kNode.data(), kNode.size(), nullptr);
  ASSERT_NE(message, nullptr);
  const TwMessagePart* node = tw_message_root(message);
  TwMessageField fields[TW_MESSAGE_FIELDS];
  ASSERT_EQ(tw_message_fields(node, fields, TW_MESSAGE_FIELDS), 3);
  EXPECT_EQ(tw_message_fields(node, nullptr, 0), 3);
  EXPECT_EQ(fields[0].number, 1);
  EXPECT_EQ(fields[0].repeated, 0);
  EXPECT_EQ(Text(fields[0], 0), "x");
  EXPECT_EQ(fields[1].count, 2u);
  EXPECT_EQ(Text(fields[1], 1), "b");
  EXPECT_EQ(fields[2].map, 1);

  TwMessageField entry[2];
  ASSERT_EQ(tw_message_fields(tw_message_part(&fields[2], 0), entry, 2), 2);
  EXPECT_EQ(Text(entry[0], 0), "T");
  TwMessageField type;
  ASSERT_EQ(tw_message_fields(tw_message_part(&entry[1], 0), &type, 1), 1);
  EXPECT_EQ(type.number, 6);
  EXPECT_EQ(type.single.i, 3);

  size_t size = 0;
  const char* unknown = tw_message_unknown(node, &size);
  EXPECT_EQ(std::string_view(unknown, size), kNode.substr(18));
  TwBuffer* bytes = tw_message_serialize(node, nullptr);
  EXPECT_EQ(
      std::string_view(static_cast<const char*>(tw_buffer_data(bytes)), tw_buffer_size(bytes)),
      kNode);
  tw_buffer_free(bytes);
  tw_message_free(message);
}

TEST(MessageTreesTest, WrongArgumentsAreErrorsOrTheEmptyAnswer) {
  TwStatus* status = tw_status_new();
  EXPECT_EQ(tw_message_parse("tensorflow.NodeDef", kNode.data(), 2, status), nullptr);
  EXPECT_EQ(tw_status_code(status), 3);
  EXPECT_NE(std::string(tw_status_message(status)).find("NodeDef"), std::string::npos);
  EXPECT_EQ(tw_message_parse("tensorflow.None", nullptr, 0, status), nullptr);
  EXPECT_EQ(tw_status_code(status), 5);
  EXPECT_EQ(tw_message_parse(nullptr, nullptr, 0, status), nullptr);
  EXPECT_EQ(tw_message_parse("tensorflow.NodeDef", nullptr, 1, status), nullptr);
  EXPECT_EQ(tw_status_code(status), 3);
  EXPECT_EQ(tw_message_serialize(nullptr, status), nullptr);
  EXPECT_EQ(tw_status_code(status), 3);
  EXPECT_EQ(tw_message_root(nullptr), nullptr);
  EXPECT_EQ(tw_message_fields(nullptr, nullptr, 0), 0);
  EXPECT_EQ(tw_message_text(nullptr, 0, nullptr), nullptr);
  size_t size = 1;
  tw_message_unknown(nullptr, &size);
  EXPECT_EQ(size, 0u);
  tw_message_free(nullptr);

  TwMessage* message = tw_message_parse("tensorflow.NodeDef", kNode.data(), kNode.size(), status);
  TwMessageField fields[3];
  ASSERT_EQ(tw_message_fields(tw_message_root(message), fields, 3), 3);
  EXPECT_EQ(tw_message_fields(tw_message_root(message), nullptr, 3), 0);
  EXPECT_EQ(tw_message_part(&fields[0], 0), nullptr);           // text
  EXPECT_EQ(tw_message_text(&fields[2], 0, nullptr), nullptr);  // messages
  EXPECT_EQ(tw_message_text(&fields[1], 2, nullptr), nullptr);  // one too many
  tw_message_free(message);
  tw_status_free(status);
}

}  // namespace
