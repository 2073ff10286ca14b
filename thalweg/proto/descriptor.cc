// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/descriptor.h"

#include <algorithm>

#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

template <class T>
const T* FindByFullName(std::span<const T> types, std::string_view full_name) {
  auto it =
      std::lower_bound(types.begin(), types.end(), full_name,
                       [](const T& type, std::string_view name) { return type.full_name < name; });
  return it != types.end() && it->full_name == full_name ? &*it : nullptr;
}

}  // namespace

const EnumValue* EnumDescriptor::FindByName(std::string_view name) const {
  for (const EnumValue& value : values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

const EnumValue* EnumDescriptor::FindByNumber(int32_t number) const {
  auto it = std::lower_bound(values.begin(), values.end(), number,
                             [](const EnumValue& value, int32_t n) { return value.number < n; });
  return it != values.end() && it->number == number ? &*it : nullptr;
}

const FieldDescriptor* MessageDescriptor::FindByName(std::string_view name) const {
  for (const FieldDescriptor& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const FieldDescriptor* MessageDescriptor::FindLargeNumber(uint32_t number) const {
  auto it =
      std::lower_bound(fields.begin(), fields.end(), number,
                       [](const FieldDescriptor& field, uint32_t n) { return field.number < n; });
  return it != fields.end() && it->number == number ? &*it : nullptr;
}

std::string_view MessageDescriptor::short_name() const {
  for (std::string_view package : {"tensorflow.", "google.protobuf."}) {
    if (full_name.starts_with(package)) return full_name.substr(package.size());
  }
  return full_name;
}

const MessageDescriptor* FindMessageType(std::string_view full_name) {
  return FindByFullName(MessageTypes(), full_name);
}

const EnumDescriptor* FindEnumType(std::string_view full_name) {
  return FindByFullName(EnumTypes(), full_name);
}

std::span<const MessageDescriptor> MessageTypes() {
  return {pb::tables::kMessages, pb::tables::kMessageCount};
}

std::span<const EnumDescriptor> EnumTypes() { return {pb::tables::kEnums, pb::tables::kEnumCount}; }

}  // namespace thalweg
