// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/json_format.h"
#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

constexpr size_t kMostJsonBytes = size_t{1} << 31;
constexpr int kMostJsonLevels = 100;  // as the wire and the text form

// "simple_value" is simpleValue.
std::string JsonName(std::string_view name) {
  std::string out;
  bool upper = false;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out.push_back(upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    upper = false;
  }
  return out;
}

class JsonPrinter {
 public:
  Status Print(const Message& message, int level) {
    if (level > kMostJsonLevels) {
      return InvalidArgument("messages are nested deeper than ", kMostJsonLevels, " levels");
    }
    json_.BeginObject();
    for (const FieldDescriptor& field : message.type().fields) {
      if (!message.Has(field)) continue;
      json_.Key(JsonName(field.name));
      if (field.map) {
        RETURN_IF_ERROR(PrintMap(message, field, level));
      } else if (field.repeated) {
        RETURN_IF_ERROR(PrintList(message, field, level));
      } else {
        RETURN_IF_ERROR(PrintSingle(message, field, level));
      }
    }
    json_.EndObject();
    return OkStatus();
  }
  std::string Take() { return json_.Take(); }

 private:
  Status CheckRoom() const {
    if (json_.size() <= kMostJsonBytes) return OkStatus();
    return ResourceExhausted("the JSON form has more than ", kMostJsonBytes, " bytes");
  }

  void PrintInt(const FieldDescriptor& field, int64_t value) {
    if (field.enumeration != nullptr) {
      const EnumValue* const named = field.enumeration->FindByNumber(static_cast<int32_t>(value));
      if (named != nullptr) {
        json_.Text(named->name);
        return;
      }
    }
    if (field.storage == Storage::kInt64) {
      json_.Text(std::to_string(value));
    } else {
      json_.Number(value);
    }
  }
  Status PrintText(const FieldDescriptor& field, std::string_view value) {
    if (field.type == FieldType::kBytes) {
      json_.Text(Base64(value));
    } else {
      json_.Text(value);
    }
    return CheckRoom();
  }

  Status PrintSingle(const Message& message, const FieldDescriptor& field, int level) {
    switch (field.storage) {
      case Storage::kInt32:
      case Storage::kInt64:
        PrintInt(field, message.GetInt(field));
        break;
      case Storage::kUint32:
        json_.Number(message.GetUint(field));
        break;
      case Storage::kUint64:
        json_.Text(std::to_string(message.GetUint(field)));
        break;
      case Storage::kFloat:
        json_.Number(message.GetFloat(field));
        break;
      case Storage::kDouble:
        json_.Number(message.GetDouble(field));
        break;
      case Storage::kBool:
        json_.Bool(message.GetBool(field));
        break;
      case Storage::kString:
        return PrintText(field, message.GetString(field));
      case Storage::kMessage:
        return Print(message.GetMessage(field), level + 1);
    }
    return CheckRoom();
  }

  Status PrintList(const Message& message, const FieldDescriptor& field, int level) {
    json_.BeginList();
    switch (field.storage) {
      case Storage::kInt32:
        for (const int32_t value : message.Repeated<int32_t>(field)) PrintInt(field, value);
        break;
      case Storage::kInt64:
        for (const int64_t value : message.Repeated<int64_t>(field)) PrintInt(field, value);
        break;
      case Storage::kUint32:
        for (const uint32_t value : message.Repeated<uint32_t>(field)) json_.Number(value);
        break;
      case Storage::kUint64:
        for (const uint64_t value : message.Repeated<uint64_t>(field)) {
          json_.Text(std::to_string(value));
        }
        break;
      case Storage::kFloat:
        for (const float value : message.Repeated<float>(field)) json_.Number(value);
        break;
      case Storage::kDouble:
        for (const double value : message.Repeated<double>(field)) json_.Number(value);
        break;
      case Storage::kBool:
        for (const bool value : message.Repeated<bool>(field)) json_.Bool(value);
        break;
      case Storage::kString:
        for (const std::string_view value : message.Repeated<std::string_view>(field)) {
          RETURN_IF_ERROR(PrintText(field, value));
        }
        break;
      case Storage::kMessage:
        for (const Message* const value : message.Messages(field)) {
          RETURN_IF_ERROR(Print(*value, level + 1));
        }
        break;
    }
    json_.EndList();
    return CheckRoom();
  }

  // Keys of whatever type are texts.
  Status PrintMap(const Message& message, const FieldDescriptor& field, int level) {
    const FieldDescriptor& key = *field.message->FindByNumber(pb::kMapKey);
    const FieldDescriptor& value = *field.message->FindByNumber(pb::kMapValue);
    json_.BeginObject();
    for (const Message* const entry : message.Messages(field)) {
      switch (key.storage) {
        case Storage::kString:
          json_.Key(entry->GetString(key));
          break;
        case Storage::kBool:
          json_.Key(entry->GetBool(key) ? "true" : "false");
          break;
        case Storage::kUint32:
        case Storage::kUint64:
          json_.Key(std::to_string(entry->GetUint(key)));
          break;
        default:
          json_.Key(std::to_string(entry->GetInt(key)));
      }
      RETURN_IF_ERROR(PrintSingle(*entry, value, level));
    }
    json_.EndObject();
    return OkStatus();
  }

  JsonWriter json_;
};

}  // namespace

Result<std::string> PrintJson(const Message& message) {
  JsonPrinter printer;
  RETURN_IF_ERROR(printer.Print(message, 1));
  return printer.Take();
}

}  // namespace thalweg
