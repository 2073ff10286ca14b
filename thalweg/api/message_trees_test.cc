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

// What is put in, in any order, is written as it would be by anyone.
TEST(MessageTreesTest, MessagesAreFilledIn) {
  TwStatus* status = tw_status_new();
  TwMessage* read = tw_message_parse("tensorflow.NodeDef", kNode.data(), kNode.size(), status);
  TwMessage* message = tw_message_new("tensorflow.NodeDef", status);
  ASSERT_NE(message, nullptr);
  TwMessagePart* node = tw_message_filled(message);
  const auto put = [&](TwMessagePart* part, int32_t number, const std::string& text) {
    TwMessageField field;
    EXPECT_EQ(tw_message_field(part, number, &field), 1);
    field.values = text.data();
    field.single.u = text.size();
    return tw_message_put(part, &field, status);
  };
  TwMessageField key{};
  key.type = 9;
  key.values = "T";
  key.single.u = 1;
  TwMessagePart* entry = tw_message_put_entry(node, 5, &key, status);
  EXPECT_EQ(tw_message_put_entry(node, 5, &key, status), entry);
  EXPECT_EQ(put(entry, 1, "U"), 3);  // would be out of place
  TwMessagePart* value = tw_message_put_part(entry, 2, status);
  EXPECT_EQ(put(value, 2, "one of a oneof"), 0);
  TwMessageField type{};
  type.number = 6;
  type.single.i = 3;
  EXPECT_EQ(tw_message_put(value, &type, status), 0);  // instead of the other
  EXPECT_EQ(put(node, 3, "a"), 0);
  EXPECT_EQ(put(node, 3, "b"), 0);
  EXPECT_EQ(put(node, 1, "replaced"), 0);
  EXPECT_EQ(put(node, 1, "x"), 0);
  TwMessage* copy = tw_message_new("tensorflow.NodeDef", status);
  EXPECT_EQ(tw_message_merge(tw_message_filled(copy), node, status), 0);
  tw_message_free(message);
  TwBuffer* bytes = tw_message_serialize(tw_message_root(copy), status);
  EXPECT_EQ(
      std::string_view(static_cast<const char*>(tw_buffer_data(bytes)), tw_buffer_size(bytes)),
      kNode.substr(0, 18));
  tw_buffer_free(bytes);

  node = tw_message_filled(copy);
  TwMessageField none;
  EXPECT_EQ(tw_message_field(node, 999, &none), 0);
  EXPECT_EQ(tw_message_field(node, -1, &none), 0);
  type.number = 999;
  EXPECT_EQ(tw_message_put(node, &type, status), 5);
  type.number = 5;  // a map
  EXPECT_EQ(tw_message_put(node, &type, status), 3);
  EXPECT_EQ(tw_message_put_part(node, 5, status), nullptr);
  EXPECT_EQ(tw_message_put_part(node, 1, status), nullptr);
  EXPECT_EQ(tw_message_put_entry(node, 3, &key, status), nullptr);
  key.type = 3;
  EXPECT_EQ(tw_message_put_entry(node, 5, &key, status), nullptr);
  EXPECT_NE(std::string(tw_status_message(status)).find("are text, not numbers"),
            std::string::npos);
  TwMessage* other = tw_message_new("tensorflow.GraphDef", status);
  EXPECT_EQ(tw_message_merge(node, tw_message_root(other), status), 3);
  EXPECT_EQ(tw_message_merge(nullptr, nullptr, status), 3);
  EXPECT_EQ(tw_message_put(nullptr, &type, status), 3);
  EXPECT_EQ(tw_message_put(node, nullptr, status), 3);
  EXPECT_EQ(tw_message_put_entry(node, 5, nullptr, status), nullptr);
  EXPECT_EQ(tw_message_new("tensorflow.None", status), nullptr);
  EXPECT_EQ(tw_message_filled(nullptr), nullptr);
  EXPECT_EQ(tw_message_field(nullptr, 1, &none), 0);
  tw_message_free(other);
  tw_message_free(copy);
  tw_message_free(read);
  tw_status_free(status);
}

}  // namespace
