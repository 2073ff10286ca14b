// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

// Both sinks are written from the last byte to the first: when a length is due, what it counts is
// already there.
class CountingSink {
 public:
  size_t size() const { return size_; }
  void PutVarint(uint64_t value) {
    size_ += static_cast<size_t>(std::bit_width(value | 1) + 6) / 7;
  }
  void PutRaw(const void*, size_t size) { size_ += size; }

 private:
  size_t size_ = 0;
};

class BackwardSink {
 public:
  explicit BackwardSink(char* end) : next_(end), end_(end) {}
  size_t size() const { return static_cast<size_t>(end_ - next_); }
  void PutVarint(uint64_t value) {
    int bytes = (std::bit_width(value | 1) + 6) / 7;
    char* p = next_ -= bytes;
    for (; bytes > 1; --bytes, value >>= 7) *p++ = static_cast<char>(value | 0x80);
    *p = static_cast<char>(value);
  }
  void PutRaw(const void* data, size_t size) {
    next_ -= size;
    if (size != 0) std::memcpy(next_, data, size);
  }

 private:
  char* next_;
  char* end_;
};

// The bits of a slot as a varint.
uint64_t ToVarint(FieldType type, uint64_t bits) {
  if (type == FieldType::kSint32)
    return static_cast<uint32_t>(ZigZagEncode(static_cast<int64_t>(bits)));
  if (type == FieldType::kSint64) return ZigZagEncode(static_cast<int64_t>(bits));
  return bits;
}

}  // namespace

template <class Sink>
class WireEncoder {
 public:
  explicit WireEncoder(Sink& sink) : sink_(sink) {}

  // False when messages are nested too deeply; then what was put is of no use.
  bool Put(const Message& message, int depth) {
    sink_.PutRaw(message.unknown_fields().data(), message.unknown_fields().size());
    for (uint64_t left = message.has_; left != 0;) {
      const int index = 63 - std::countl_zero(left);
      left &= ~(uint64_t{1} << index);
      const FieldDescriptor& field = message.type_->fields[index];
      if (field.storage == Storage::kMessage) {
        if (!PutMessages(message, field, depth)) return false;
      } else if (field.storage == Storage::kString) {
        PutStrings(message, field);
      } else if (field.repeated) {
        PutList(message, field);
      } else {
        PutScalar(field.type, message.slot(field).bits);
        PutTag(field, WireTypeOf(field.type));
      }
    }
    return true;
  }

 private:
  void PutTag(const FieldDescriptor& field, WireType type) {
    sink_.PutVarint(WireTag(field.number, type));
  }

  void PutScalar(FieldType type, uint64_t bits) {
    switch (WireTypeOf(type)) {
      case WireType::kFixed64:
        return sink_.PutRaw(&bits, 8);
      case WireType::kFixed32:
        return sink_.PutRaw(&bits, 4);
      default:
        return sink_.PutVarint(ToVarint(type, bits));
    }
  }

  void PutString(const FieldDescriptor& field, std::string_view text) {
    sink_.PutRaw(text.data(), text.size());
    sink_.PutVarint(text.size());
    PutTag(field, WireType::kLengthDelimited);
  }

  void PutStrings(const Message& message, const FieldDescriptor& field) {
    if (!field.repeated) return PutString(field, message.GetString(field));
    const auto texts = message.Elements<const std::string_view>(field);
    for (size_t i = texts.size(); i-- > 0;) PutString(field, texts[i]);
  }

  bool PutMessages(const Message& message, const FieldDescriptor& field, int depth) {
    if (!field.repeated) return PutMessage(field, *message.slot(field).message, depth);
    const auto elements = message.Elements<const Message* const>(field);
    for (size_t i = elements.size(); i-- > 0;) {
      if (!PutMessage(field, *elements[i], depth)) return false;
    }
    return true;
  }

  bool PutMessage(const FieldDescriptor& field, const Message& message, int depth) {
    if (!field.map && depth == kMaxMessageDepth) return false;
    const size_t before = sink_.size();
    if (!Put(message, field.map ? depth : depth + 1)) return false;
    sink_.PutVarint(sink_.size() - before);
    PutTag(field, WireType::kLengthDelimited);
    return true;
  }

  void PutList(const Message& message, const FieldDescriptor& field) {
    const Message::RepeatedHeader* list = message.slot(field).repeated;
    const size_t size = ElementSize(field.storage);
    const char* data = reinterpret_cast<const char*>(list + 1);
    const size_t before = sink_.size();
    if (field.packed && WireTypeOf(field.type) != WireType::kVarint) {
      sink_.PutRaw(data, list->size * size);
    } else {
      const bool negative = field.storage == Storage::kInt32;
      for (size_t i = list->size; i-- > 0;) {
        uint64_t bits = 0;
        std::memcpy(&bits, data + i * size, size);
        if (negative)
          bits = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
        PutScalar(field.type, bits);
        if (!field.packed) PutTag(field, WireTypeOf(field.type));
      }
    }
    if (!field.packed) return;
    sink_.PutVarint(sink_.size() - before);
    PutTag(field, WireType::kLengthDelimited);
  }

  Sink& sink_;
};

Result<size_t> SerializedSize(const Message& message) {
  CountingSink sink;
  if (!WireEncoder<CountingSink>(sink).Put(message, 0)) {
    return InvalidArgument(message.type().short_name(), ": messages are nested more than ",
                           kMaxMessageDepth, " deep, which no reader accepts");
  }
  if (sink.size() > kMaxMessageBytes) {
    return ResourceExhausted(message.type().short_name(), ": ", sink.size(),
                             " bytes are more than the ", kMaxMessageBytes,
                             " bytes that one message can hold");
  }
  return sink.size();
}

Status AppendSerialized(const Message& message, std::string& out) {
  ASSIGN_OR_RETURN(const size_t size, SerializedSize(message));
  try {
    out.resize(out.size() + size);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(message.type().short_name(), ": no memory for ", size,
                             " bytes of output");
  }
  BackwardSink sink(out.data() + out.size());
  WireEncoder<BackwardSink>(sink).Put(message, 0);
  CHECK(sink.size() == size);
  return OkStatus();
}

Result<std::string> Serialize(const Message& message) {
  std::string out;
  RETURN_IF_ERROR(AppendSerialized(message, out));
  return out;
}

}  // namespace thalweg
