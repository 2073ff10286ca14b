// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>
#include <vector>

#include "thalweg/proto/utf8.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

// A varint as the bits that a slot of this type holds.
uint64_t FromVarint(FieldType type, uint64_t value) {
  switch (type) {
    case FieldType::kInt32:
    case FieldType::kEnum:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
    case FieldType::kUint32:
      return static_cast<uint32_t>(value);
    case FieldType::kBool:
      return value != 0;
    case FieldType::kSint32:
      return static_cast<uint64_t>(
          static_cast<int64_t>(static_cast<int32_t>(ZigZagDecode(static_cast<uint32_t>(value)))));
    case FieldType::kSint64:
      return static_cast<uint64_t>(ZigZagDecode(value));
    default:
      return value;
  }
}

}  // namespace

// Reads into one tree. Every level has a reader of its own over its part of the bytes; nesting is
// limited, so the recursion is. A failure is noted once, where it happens; the levels above add
// their part of the path.
class WireParser {
 public:
  WireParser(std::string_view bytes, Arena* arena, const ParseOptions& options)
      : bytes_(bytes), arena_(arena), max_memory_(options.max_memory) {}

  Status Parse(Message& message) {
    const bool ok = ParseBody(message, bytes_, 0);
    for (Message* unsorted : unsorted_) unsorted->SortMaps();
    return ok ? OkStatus() : Error(message);
  }

 private:
  bool ParseBody(Message& message, std::string_view body, int depth) {
    const bool had_maps = (message.has_ & message.type_->map_mask) != 0;
    const bool ok = ParseFields(message, body, depth);
    if ((message.has_ & message.type_->map_mask) != 0) {
      // A message that comes in many pieces is sorted once, at the end.
      if (!had_maps) {
        message.SortMaps();
      } else if ((message.has_ & Message::kMapsUnsorted) == 0) {
        message.has_ |= Message::kMapsUnsorted;
        unsorted_.push_back(&message);
      }
    }
    return ok;
  }

  bool ParseFields(Message& message, std::string_view body, int depth) {
    WireReader in(body);
    while (!in.AtEnd()) {
      const char* start = in.position();
      uint32_t tag;
      if (!in.ReadTag(&tag)) return Fail(start, "expected a field tag, found a malformed one");
      const FieldDescriptor* field = message.type_->FindByNumber(WireFieldNumber(tag));
      const WireType wire = WireTypeOf(tag);
      if (field != nullptr && wire == WireTypeOf(field->type)) {
        if (!ParseValue(message, *field, in, depth)) return FailIn(message, *field);
      } else if (field != nullptr && field->repeated && wire == WireType::kLengthDelimited) {
        if (!ParsePacked(message, *field, in)) return FailIn(message, *field);
      } else {
        if (!in.Skip(tag)) {
          return Fail(start, StrCat("field ", WireFieldNumber(tag), " of wire type ", tag & 7,
                                    " is truncated, malformed or an unmatched group"));
        }
        message.AppendUnknown({start, static_cast<size_t>(in.position() - start)});
      }
      if (arena_->reserved() > max_memory_) return FailMemory(start);
    }
    return true;
  }

  bool ParseValue(Message& message, const FieldDescriptor& field, WireReader& in, int depth) {
    const char* start = in.position();
    if (field.storage == Storage::kMessage) {
      std::string_view body;
      if (!in.ReadBytes(&body)) return FailBytes(start);
      return ParseSubMessage(message, field, body, depth);
    }
    if (field.storage == Storage::kString) {
      std::string_view text;
      if (!in.ReadBytes(&text)) return FailBytes(start);
      if (field.utf8 && !IsUtf8(text)) return Fail(start, "expected UTF-8, found other bytes");
      if (field.repeated) {
        *static_cast<std::string_view*>(message.Grow(field, 1, sizeof(text))) = text;
      } else {
        message.SetText(field, text);
      }
      return true;
    }
    uint64_t bits = 0;
    if (!ReadScalar(field.type, in, &bits))
      return Fail(start, "expected a value, found a truncated or malformed one");
    if (field.repeated) {
      const size_t size = ElementSize(field.storage);
      std::memcpy(message.Grow(field, 1, size), &bits, size);
    } else {
      message.SetBits(field, bits);
    }
    return true;
  }

  bool ParseSubMessage(Message& message, const FieldDescriptor& field, std::string_view body,
                       int depth) {
    if (field.map) {
      Message* entry = message.AddField(field);
      const bool ok = ParseBody(*entry, body, depth);
      entry->CompleteEntry();
      return ok;
    }
    if (depth == kMaxMessageDepth) {
      return Fail(body.data(), StrCat("messages are nested more than ", kMaxMessageDepth, " deep"));
    }
    Message* child = field.repeated ? message.AddField(field) : message.MutableField(field);
    return ParseBody(*child, body, depth + 1);
  }

  static bool ReadScalar(FieldType type, WireReader& in, uint64_t* bits) {
    switch (WireTypeOf(type)) {
      case WireType::kFixed64:
        return in.ReadFixed64(bits);
      case WireType::kFixed32: {
        uint32_t narrow;
        if (!in.ReadFixed32(&narrow)) return false;
        *bits = type == FieldType::kSfixed32
                    ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(narrow)))
                    : narrow;
        return true;
      }
      default: {
        uint64_t value;
        if (!in.ReadVarint(&value)) return false;
        *bits = FromVarint(type, value);
        return true;
      }
    }
  }

  bool ParsePacked(Message& message, const FieldDescriptor& field, WireReader& in) {
    const char* start = in.position();
    std::string_view body;
    if (!in.ReadBytes(&body)) return FailBytes(start);
    const bool varints = WireTypeOf(field.type) == WireType::kVarint;
    const size_t size = ElementSize(field.storage);
    if (!varints && body.size() % size != 0) {
      return Fail(start, StrCat("expected packed values of ", size, " bytes, found ", body.size(),
                                " bytes"));
    }
    // A varint ends with the byte whose top bit is clear.
    const size_t count =
        varints ? static_cast<size_t>(std::count_if(body.begin(), body.end(),
                                                    [](char c) { return (c & 0x80) == 0; }))
                : body.size() / size;
    if (count > max_memory_ / size || arena_->reserved() + count * size > max_memory_)
      return FailMemory(start);
    char* to = count == 0 ? nullptr : static_cast<char*>(message.Grow(field, count, size));
    if (!varints) {
      if (count != 0) std::memcpy(to, body.data(), body.size());
      return true;
    }
    WireReader values(body);
    for (size_t i = 0; i < count || !values.AtEnd(); ++i) {
      uint64_t value;
      const char* at = values.position();
      if (!values.ReadVarint(&value)) {
        if (count != 0)
          message.Erase(field, message.Size(field) - (count - i), message.Size(field));
        return Fail(at, "expected a packed varint, found a truncated or malformed one");
      }
      value = FromVarint(field.type, value);
      std::memcpy(to + i * size, &value, size);
    }
    return true;
  }

  bool Fail(const char* at, std::string what) {
    offset_ = static_cast<size_t>(at - bytes_.data());
    what_ = std::move(what);
    return false;
  }
  bool FailBytes(const char* at) {
    return Fail(at, "its length is malformed or more than the bytes that are left");
  }
  bool FailMemory(const char* at) {
    out_of_memory_ = true;
    return Fail(
        at, StrCat("the message needs more than the limit of ", max_memory_, " bytes of memory"));
  }
  bool FailIn(const Message& message, const FieldDescriptor& field) {
    std::string part(field.name);
    if (field.repeated && message.Size(field) != 0) {
      const size_t last = message.Size(field) - 1;
      std::string_view key;
      if (field.map && field.message->fields[0].storage == Storage::kString) {
        key = message.Elements<Message*>(field)[last]->GetString(pb::kMapKey);
      }
      if (!key.empty() && key.size() <= 100) {
        part = StrCat(part, "[\"", key, "\"]");
      } else if (field.storage == Storage::kMessage) {
        part = StrCat(part, "[", last, "]");
      }
    }
    path_.push_back(std::move(part));
    return false;
  }

  Status Error(const Message& message) const {
    std::string where(message.type().short_name());
    for (auto part = path_.rbegin(); part != path_.rend(); ++part)
      where = StrCat(where, ".", *part);
    return Status(out_of_memory_ ? Code::kResourceExhausted : Code::kInvalidArgument,
                  StrCat(where, " at byte ", offset_, ": ", what_));
  }

  const std::string_view bytes_;
  Arena* const arena_;
  const size_t max_memory_;
  std::vector<Message*> unsorted_;
  size_t offset_ = 0;
  std::string what_;
  std::vector<std::string> path_;  // innermost first
  bool out_of_memory_ = false;
};

Status MergeFromBytes(Message& message, std::string_view bytes, const ParseOptions& options) {
  if (bytes.size() > options.max_bytes) {
    return ResourceExhausted(message.type().short_name(), ": ", bytes.size(),
                             " bytes are more than the limit of ", options.max_bytes,
                             " bytes for one message");
  }
  try {
    Arena& arena = message.arena();
    arena.ExpectBytes(bytes.size());
    if (!options.borrow) bytes = arena.Copy(bytes);
    // What the arena holds by now, such as the bytes themselves, is not counted.
    ParseOptions limits = options;
    limits.max_memory += std::min(arena.reserved(), SIZE_MAX - limits.max_memory);
    return WireParser(bytes, &arena, limits).Parse(message);
  } catch (const std::bad_alloc&) {
    message.Clear();
    return ResourceExhausted(message.type().short_name(), ": no memory for the tree of ",
                             bytes.size(), " bytes");
  }
}

Result<OwnedMessage> ParseMessage(const MessageDescriptor& type, std::string_view bytes,
                                  const ParseOptions& options) {
  OwnedMessage message(type);
  RETURN_IF_ERROR(MergeFromBytes(*message, bytes, options));
  return message;
}

Result<OwnedMessage> ParseMessage(const MessageDescriptor& type, std::string&& bytes,
                                  const ParseOptions& options) {
  OwnedMessage message(type);
  ParseOptions borrow = options;
  borrow.borrow = true;
  RETURN_IF_ERROR(MergeFromBytes(*message, message->arena().Adopt(std::move(bytes)), borrow));
  return message;
}

}  // namespace thalweg
