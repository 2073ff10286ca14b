// SPDX-License-Identifier: Apache-2.0
// MessageDescriptor: what a message type consists of. Constant tables, generated from
// tools/tf_facts/messages.json.
//
//   const MessageDescriptor& type = pb::NodeDef::Descriptor();  // known when compiling: messages.h
//   const MessageDescriptor* same = FindMessageType("tensorflow.NodeDef");
//   const FieldDescriptor* device = type.FindByName("device");  // null when there is none
//
// Ownership: all of it is static and immutable.
// Threads: any.
// Errors: none; null where there is no such name or number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace thalweg {

class Message;
struct MessageDescriptor;

// Numbers as in protobuf's own descriptors.
enum class FieldType : uint8_t {
  kDouble = 1,
  kFloat = 2,
  kInt64 = 3,
  kUint64 = 4,
  kInt32 = 5,
  kFixed64 = 6,
  kFixed32 = 7,
  kBool = 8,
  kString = 9,
  kMessage = 11,
  kBytes = 12,
  kUint32 = 13,
  kEnum = 14,
  kSfixed32 = 15,
  kSfixed64 = 16,
  kSint32 = 17,
  kSint64 = 18,
};

// How a value is held in memory: an enum value is a kInt32, bytes are a kString.
enum class Storage : uint8_t {
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kBool,
  kString,
  kMessage,
};

// Bytes of one element of a repeated field.
constexpr size_t ElementSize(Storage storage) {
  switch (storage) {
    case Storage::kBool:
      return 1;
    case Storage::kInt32:
    case Storage::kUint32:
    case Storage::kFloat:
      return 4;
    case Storage::kString:
      return sizeof(std::string_view);
    default:
      return 8;
  }
}

struct EnumValue {
  std::string_view name;
  int32_t number;
};

struct EnumDescriptor {
  std::string_view full_name;
  std::span<const EnumValue> values;  // by number

  const EnumValue* FindByName(std::string_view name) const;
  const EnumValue* FindByNumber(int32_t number) const;
};

struct FieldDescriptor {
  std::string_view name;
  const MessageDescriptor* parent;
  const MessageDescriptor*
      message;  // of message fields; of a map: its entry type, key 1 and value 2
  const EnumDescriptor* enumeration;
  uint64_t oneof_mask;  // bits (by index) of all members of its oneof; 0 outside a oneof
  uint32_t number;
  FieldType type;
  Storage storage;
  bool repeated;  // maps too
  bool map;
  bool packed;      // as written; both forms are read
  bool presence;    // a set zero differs from an absent value
  bool utf8;        // refuses other text when read
  uint8_t index;    // place in parent->fields
  uint16_t offset;  // place in memory; members of a oneof share it

  uint64_t bit() const { return uint64_t{1} << index; }
};

struct OneofDescriptor {
  std::string_view name;
  uint64_t mask;  // its members, by index
};

struct MessageDescriptor {
  std::string_view full_name;
  std::span<const FieldDescriptor> fields;  // by number, at most 63
  std::span<const OneofDescriptor> oneofs;
  std::span<const uint8_t> index_by_number;  // small numbers only; 255: none
  const Message* default_instance;
  uint64_t map_mask;   // its map fields, by index
  uint16_t body_size;  // bytes of all values
  bool map_entry;
  bool proto2;  // the language of its file: all singular fields have presence, text is not checked

  const FieldDescriptor* FindByNumber(uint32_t number) const {
    if (number >= index_by_number.size()) return FindLargeNumber(number);
    const uint8_t index = index_by_number[number];
    return index == 255 ? nullptr : &fields[index];
  }
  const FieldDescriptor* FindByName(std::string_view name) const;
  // The part after the package: "AttrValue.ListValue".
  std::string_view short_name() const;
  // The rare numbers beyond index_by_number.
  const FieldDescriptor* FindLargeNumber(uint32_t number) const;
};

// By full name; null when there is none. Entry types of maps are not listed.
const MessageDescriptor* FindMessageType(std::string_view full_name);
const EnumDescriptor* FindEnumType(std::string_view full_name);
// Every type, by full name.
std::span<const MessageDescriptor> MessageTypes();
std::span<const EnumDescriptor> EnumTypes();

}  // namespace thalweg
