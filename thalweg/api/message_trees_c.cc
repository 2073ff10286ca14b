// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that read and fill in protocol messages of any type, field by field.
#include "thalweg/api/handles.h"
#include "thalweg/proto/message.h"
#include "thalweg/proto/wire.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwMessage {
  OwnedMessage message;
};

namespace {

const Message& UnwrapPart(const TwMessagePart* part) {
  return *reinterpret_cast<const Message*>(part);
}
Message& UnwrapPart(TwMessagePart* part) { return *reinterpret_cast<Message*>(part); }
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

TwMessagePart* Wrap(Message* message) { return reinterpret_cast<TwMessagePart*>(message); }

// A field of a part that is to change. The key of a map's entry is its place, and stays.
Result<const FieldDescriptor*> FieldToFill(const TwMessagePart* part, int32_t number) {
  RETURN_IF_ERROR(RequireAll({{"part", part}}));
  const MessageDescriptor& type = UnwrapPart(part).type();
  const FieldDescriptor* field = type.FindByNumber(static_cast<uint32_t>(number));
  if (field == nullptr) return NotFound(type.full_name, " has no field ", number);
  if (type.map_entry && number == pb::kMapKey) {
    return InvalidArgument("the key of an entry of ", type.full_name, " does not change");
  }
  return field;
}

Result<std::string_view> TextOf(const TwMessageField& value) {
  if (value.single.u > 0) RETURN_IF_ERROR(RequireAll({{"values", value.values}}));
  return std::string_view(static_cast<const char*>(value.values), value.single.u);
}

// Sets a single field, or adds to a repeated one.
Status Put(Message& message, const FieldDescriptor& field, const TwMessageField& value) {
  const bool adds = field.repeated;
  switch (field.storage) {
    case Storage::kInt32:
    case Storage::kInt64:
      adds ? message.AddInt(field, value.single.i) : message.SetInt(field, value.single.i);
      break;
    case Storage::kUint32:
    case Storage::kUint64:
      adds ? message.AddUint(field, value.single.u) : message.SetUint(field, value.single.u);
      break;
    case Storage::kBool:
      adds ? message.AddBool(field, value.single.u != 0)
           : message.SetBool(field, value.single.u != 0);
      break;
    case Storage::kFloat: {
      const auto narrow = static_cast<float>(value.single.d);
      adds ? message.AddFloat(field, narrow) : message.SetFloat(field, narrow);
      break;
    }
    case Storage::kDouble:
      adds ? message.AddDouble(field, value.single.d) : message.SetDouble(field, value.single.d);
      break;
    case Storage::kString: {
      ASSIGN_OR_RETURN(const std::string_view text, TextOf(value));
      adds ? message.AddString(field, text) : message.SetString(field, text);
      break;
    }
    case Storage::kMessage:
      return InvalidArgument("field '", field.name, "' of ", message.type().full_name,
                             " is a message, not a value");
  }
  return OkStatus();
}

Result<const MessageDescriptor*> TypeNamed(const char* type) {
  RETURN_IF_ERROR(RequireAll({{"type", type}}));
  const MessageDescriptor* found = FindMessageType(type);
  if (found == nullptr) return NotFound("no message has the type '", type, "'");
  return found;
}

}  // namespace

extern "C" {

TwMessage* tw_message_parse(const char* type, const void* data, size_t size, TwStatus* status) {
  return GuardPointer<TwMessage>(status, [&]() -> Result<TwMessage*> {
    ASSIGN_OR_RETURN(const MessageDescriptor* descriptor, TypeNamed(type));
    if (size > 0) RETURN_IF_ERROR(RequireAll({{"data", data}}));
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
    ASSIGN_OR_RETURN(std::string bytes, Serialize(UnwrapPart(part)));
    return NewBuffer(std::move(bytes));
  });
}

const char* tw_message_unknown(const TwMessagePart* part, size_t* size) {
  const std::string_view bytes = part == nullptr ? "" : UnwrapPart(part).unknown_fields();
  if (size != nullptr) *size = bytes.size();
  return bytes.data();
}

int32_t tw_message_fields(const TwMessagePart* part, TwMessageField* fields, int32_t capacity) {
  if (part == nullptr || (fields == nullptr && capacity > 0)) return 0;
  int32_t count = 0;
  for (const FieldDescriptor& field : UnwrapPart(part).type().fields) {
    if (!UnwrapPart(part).Has(field)) continue;
    if (count < capacity) fields[count] = FieldOf(UnwrapPart(part), field);
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

TwMessage* tw_message_new(const char* type, TwStatus* status) {
  return GuardPointer<TwMessage>(status, [&]() -> Result<TwMessage*> {
    ASSIGN_OR_RETURN(const MessageDescriptor* descriptor, TypeNamed(type));
    return std::make_unique<TwMessage>(TwMessage{OwnedMessage(*descriptor)}).release();
  });
}

TwMessagePart* tw_message_filled(TwMessage* message) {
  return message == nullptr ? nullptr : Wrap(message->message.get());
}

int32_t tw_message_field(const TwMessagePart* part, int32_t number, TwMessageField* field) {
  if (part == nullptr || field == nullptr) return 0;
  const FieldDescriptor* found =
      UnwrapPart(part).type().FindByNumber(static_cast<uint32_t>(number));
  if (found == nullptr) return 0;
  *field = TwMessageField{};
  field->number = number;
  field->type = static_cast<int32_t>(found->type);
  field->repeated = found->repeated ? 1 : 0;
  field->map = found->map ? 1 : 0;
  return 1;
}

TwCode tw_message_put(TwMessagePart* part, const TwMessageField* value, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"value", value}}));
    ASSIGN_OR_RETURN(const FieldDescriptor* field, FieldToFill(part, value->number));
    return Put(UnwrapPart(part), *field, *value);
  });
}

TwMessagePart* tw_message_put_part(TwMessagePart* part, int32_t number, TwStatus* status) {
  return GuardPointer<TwMessagePart>(status, [&]() -> Result<TwMessagePart*> {
    ASSIGN_OR_RETURN(const FieldDescriptor* field, FieldToFill(part, number));
    Message& message = UnwrapPart(part);
    if (field->storage != Storage::kMessage || field->map) {
      return InvalidArgument("field '", field->name, "' of ", message.type().full_name,
                             " is no message");
    }
    return Wrap(field->repeated ? message.Add(*field) : message.Mutable(*field));
  });
}

TwMessagePart* tw_message_put_entry(TwMessagePart* part, int32_t number, const TwMessageField* key,
                                    TwStatus* status) {
  return GuardPointer<TwMessagePart>(status, [&]() -> Result<TwMessagePart*> {
    RETURN_IF_ERROR(RequireAll({{"key", key}}));
    ASSIGN_OR_RETURN(const FieldDescriptor* field, FieldToFill(part, number));
    Message& message = UnwrapPart(part);
    if (!field->map) {
      return InvalidArgument("field '", field->name, "' of ", message.type().full_name,
                             " is no map");
    }
    const bool is_text = key->type == static_cast<int32_t>(FieldType::kString);
    if (is_text != (field->message->fields[0].storage == Storage::kString)) {
      return InvalidArgument("keys of '", field->name, "' of ", message.type().full_name, " are ",
                             is_text ? "numbers, not text" : "text, not numbers");
    }
    if (!is_text) return Wrap(message.MutableEntry(*field, key->single.i));
    ASSIGN_OR_RETURN(const std::string_view text, TextOf(*key));
    return Wrap(message.MutableEntry(*field, text));
  });
}

TwCode tw_message_merge(TwMessagePart* part, const TwMessagePart* other, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"part", part}, {"other", other}}));
    const MessageDescriptor &type = UnwrapPart(part).type(), &given = UnwrapPart(other).type();
    if (&type != &given) {
      return InvalidArgument("a ", type.full_name, " has no fields of a ", given.full_name);
    }
    if (part != other) UnwrapPart(part).MergeFrom(UnwrapPart(other));
    return OkStatus();
  });
}

}  // extern "C"
