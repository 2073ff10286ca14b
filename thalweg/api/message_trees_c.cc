// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that read protocol messages of any type, field by field.
#include "thalweg/api/handles.h"
#include "thalweg/proto/message.h"
#include "thalweg/proto/wire.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwMessage {
  OwnedMessage message;
};

namespace {

const Message& MessageOf(const TwMessagePart* part) {
  return *reinterpret_cast<const Message*>(part);
}
const TwMessagePart* Wrap(const Message* message) {
  return reinterpret_cast<const TwMessagePart*>(message);
}

// A single text is where `values` points; repeated ones are an array there, as are all messages.
void SetSingle(const Message& message, const FieldDescriptor& field, TwMessageField* out) {
  switch (field.storage) {
    case Storage::kInt32:
    case Storage::kInt64:
      out->single.i = message.GetInt(field);
      break;
    case Storage::kUint32:
    case Storage::kUint64:
      out->single.u = message.GetUint(field);
      break;
    case Storage::kBool:
      out->single.u = message.GetBool(field) ? 1 : 0;
      break;
    case Storage::kFloat:
      out->single.d = static_cast<double>(message.GetFloat(field));
      break;
    case Storage::kDouble:
      out->single.d = message.GetDouble(field);
      break;
    case Storage::kString: {
      const std::string_view text = message.GetString(field);
      out->values = text.data();
      out->single.u = text.size();
      break;
    }
    case Storage::kMessage:
      out->values = message.FindMessage(field);
      break;
  }
}

const void* ArrayOf(const Message& message, const FieldDescriptor& field) {
  switch (field.storage) {
    case Storage::kInt32:
      return message.Repeated<int32_t>(field).data();
    case Storage::kInt64:
      return message.Repeated<int64_t>(field).data();
    case Storage::kUint32:
      return message.Repeated<uint32_t>(field).data();
    case Storage::kUint64:
      return message.Repeated<uint64_t>(field).data();
    case Storage::kBool:
      return message.Repeated<bool>(field).data();
    case Storage::kFloat:
      return message.Repeated<float>(field).data();
    case Storage::kDouble:
      return message.Repeated<double>(field).data();
    case Storage::kString:
      return message.Repeated<std::string_view>(field).data();
    case Storage::kMessage:
      return message.Messages(field).data();
  }
  return nullptr;
}

TwMessageField FieldOf(const Message& message, const FieldDescriptor& field) {
  TwMessageField out{};
  out.number = static_cast<int32_t>(field.number);
  out.type = static_cast<int32_t>(field.type);
  out.repeated = field.repeated ? 1 : 0;
  out.map = field.map ? 1 : 0;
  if (field.repeated) {
    out.count = message.Size(field);
    out.values = ArrayOf(message, field);
  } else {
    out.count = 1;
    SetSingle(message, field, &out);
  }
  return out;
}

bool Holds(const TwMessageField* field, size_t i, std::initializer_list<FieldType> types) {
  if (field == nullptr || i >= field->count || field->values == nullptr) return false;
  for (const FieldType type : types) {
    if (field->type == static_cast<int32_t>(type)) return true;
  }
  return false;
}

}  // namespace

extern "C" {

TwMessage* tw_message_parse(const char* type, const void* data, size_t size, TwStatus* status) {
  return GuardPointer<TwMessage>(status, [&]() -> Result<TwMessage*> {
    RETURN_IF_ERROR(RequireAll({{"type", type}}));
    if (size > 0) RETURN_IF_ERROR(RequireAll({{"data", data}}));
    const MessageDescriptor* descriptor = FindMessageType(type);
    if (descriptor == nullptr) return NotFound("no message has the type '", type, "'");
    const std::string_view bytes(static_cast<const char*>(data), size);
    auto message = std::make_unique<TwMessage>();
    ASSIGN_OR_RETURN(message->message, ParseMessage(*descriptor, bytes));
    return message.release();
  });
}

void tw_message_free(TwMessage* message) { delete message; }

const TwMessagePart* tw_message_root(const TwMessage* message) {
  return message == nullptr ? nullptr : Wrap(message->message.get());
}

TwBuffer* tw_message_serialize(const TwMessagePart* part, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"part", part}}));
    ASSIGN_OR_RETURN(std::string bytes, Serialize(MessageOf(part)));
    return NewBuffer(std::move(bytes));
  });
}

const char* tw_message_unknown(const TwMessagePart* part, size_t* size) {
  const std::string_view bytes = part == nullptr ? "" : MessageOf(part).unknown_fields();
  if (size != nullptr) *size = bytes.size();
  return bytes.data();
}

int32_t tw_message_fields(const TwMessagePart* part, TwMessageField* fields, int32_t capacity) {
  if (part == nullptr || (fields == nullptr && capacity > 0)) return 0;
  int32_t count = 0;
  for (const FieldDescriptor& field : MessageOf(part).type().fields) {
    if (!MessageOf(part).Has(field)) continue;
    if (count < capacity) fields[count] = FieldOf(MessageOf(part), field);
    ++count;
  }
  return count;
}

const char* tw_message_text(const TwMessageField* field, size_t i, size_t* size) {
  if (!Holds(field, i, {FieldType::kString, FieldType::kBytes})) return nullptr;
  const std::string_view text =
      field->repeated != 0
          ? static_cast<const std::string_view*>(field->values)[i]
          : std::string_view(static_cast<const char*>(field->values), field->single.u);
  if (size != nullptr) *size = text.size();
  return text.data() == nullptr ? "" : text.data();
}

const TwMessagePart* tw_message_part(const TwMessageField* field, size_t i) {
  if (!Holds(field, i, {FieldType::kMessage})) return nullptr;
  return Wrap(field->repeated != 0 ? static_cast<const Message* const*>(field->values)[i]
                                   : static_cast<const Message*>(field->values));
}

}  // extern "C"
