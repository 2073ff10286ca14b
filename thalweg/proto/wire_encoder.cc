// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <new>
#include <vector>

#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

size_t VarintSize(uint64_t value) { return static_cast<size_t>(std::bit_width(value | 1) + 6) / 7; }
size_t TagSize(const FieldDescriptor& field) {
  return VarintSize(WireTag(field.number, WireType::kVarint));
}
size_t LengthDelimitedSize(size_t size) { return VarintSize(size) + size; }

// The bits of a slot as a varint.
uint64_t ToVarint(FieldType type, uint64_t bits) {
  if (type == FieldType::kSint32)
    return static_cast<uint32_t>(ZigZagEncode(static_cast<int64_t>(bits)));
  if (type == FieldType::kSint64) return ZigZagEncode(static_cast<int64_t>(bits));
  return bits;
}

size_t ScalarSize(FieldType type, uint64_t bits) {
  switch (WireTypeOf(type)) {
    case WireType::kFixed64:
      return 8;
    case WireType::kFixed32:
      return 4;
    default:
      return VarintSize(ToVarint(type, bits));
  }
}

}  // namespace

// Measures a tree and then writes it. Both walk the tree in the same order, which is that of its
// memory when it was read from bytes; the lengths that measuring found are kept for writing in the
// order in which they are due.
class WireEncoder {
 public:
  // False when messages are nested too deeply.
  bool Measure(const Message& message, int depth, size_t* size) {
    size_t sum = message.unknown_fields().size();
    for (uint64_t left = message.has_; left != 0; left &= left - 1) {
      const FieldDescriptor& field = message.type_->fields[std::countr_zero(left)];
      if (field.storage == Storage::kMessage) {
        if (!field.repeated) {
          if (!MeasureMessage(field, *message.slot(field).message, depth, &sum)) return false;
          continue;
        }
        for (const Message* element : message.Elements<const Message* const>(field)) {
          if (!MeasureMessage(field, *element, depth, &sum)) return false;
        }
      } else if (field.storage == Storage::kString) {
        if (!field.repeated) {
          sum += TagSize(field) + LengthDelimitedSize(message.text(field).size);
          continue;
        }
        for (std::string_view text : message.Elements<const std::string_view>(field)) {
          sum += TagSize(field) + LengthDelimitedSize(text.size());
        }
      } else if (field.repeated) {
        sum += MeasureList(message, field);
      } else {
        sum += TagSize(field) + ScalarSize(field.type, message.slot(field).bits);
      }
    }
    *size = sum;
    return true;
  }

  // To `to`, which has room for the measured size; gives the end.
  char* Write(const Message& message, char* to) {
    next_ = to;
    next_length_ = 0;
    Write(message);
    return next_;
  }

 private:
  bool MeasureMessage(const FieldDescriptor& field, const Message& message, int depth,
                      size_t* sum) {
    if (!field.map && depth == kMaxMessageDepth) return false;
    const size_t place = lengths_.size();
    lengths_.push_back(0);
    size_t size;
    if (!Measure(message, field.map ? depth : depth + 1, &size)) return false;
    lengths_[place] = size;
    *sum += TagSize(field) + LengthDelimitedSize(size);
    return true;
  }

  // Calls visit(bits) for every element.
  template <class Visit>
  static void ForEach(const Message& message, const FieldDescriptor& field, Visit visit) {
    const Message::RepeatedHeader* list = message.slot(field).repeated;
    const char* data = reinterpret_cast<const char*>(list + 1);
    const size_t size = ElementSize(field.storage);
    const bool extend = field.storage == Storage::kInt32;
    for (size_t i = 0; i < list->size; ++i, data += size) {
      uint64_t bits = 0;
      std::memcpy(&bits, data, size);
      if (extend) bits = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
      visit(bits);
    }
  }

  size_t MeasureList(const Message& message, const FieldDescriptor& field) {
    const size_t count = message.slot(field).repeated->size;
    size_t sum = 0;
    if (WireTypeOf(field.type) != WireType::kVarint) {
      sum = count * ElementSize(field.storage);
    } else {
      ForEach(message, field,
              [&](uint64_t bits) { sum += VarintSize(ToVarint(field.type, bits)); });
    }
    if (!field.packed) return sum + count * TagSize(field);
    lengths_.push_back(sum);
    return TagSize(field) + LengthDelimitedSize(sum);
  }

  void PutVarint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *next_++ = static_cast<char>(value | 0x80);
    *next_++ = static_cast<char>(value);
  }
  void PutRaw(const void* data, size_t size) {
    if (size != 0) std::memcpy(next_, data, size);
    next_ += size;
  }
  void PutTag(const FieldDescriptor& field, WireType type) {
    PutVarint(WireTag(field.number, type));
  }
  void PutScalar(FieldType type, uint64_t bits) {
    switch (WireTypeOf(type)) {
      case WireType::kFixed64:
        return PutRaw(&bits, 8);
      case WireType::kFixed32:
        return PutRaw(&bits, 4);
      default:
        return PutVarint(ToVarint(type, bits));
    }
  }
  void PutText(const FieldDescriptor& field, std::string_view text) {
    PutTag(field, WireType::kLengthDelimited);
    PutVarint(text.size());
    PutRaw(text.data(), text.size());
  }
  void PutMessage(const FieldDescriptor& field, const Message& message) {
    PutTag(field, WireType::kLengthDelimited);
    PutVarint(lengths_[next_length_++]);
    Write(message);
  }

  void Write(const Message& message) {
    for (uint64_t left = message.has_; left != 0; left &= left - 1) {
      const FieldDescriptor& field = message.type_->fields[std::countr_zero(left)];
      if (field.repeated) {
        WriteList(message, field);
      } else if (field.storage == Storage::kMessage) {
        PutMessage(field, *message.slot(field).message);
      } else if (field.storage == Storage::kString) {
        PutText(field, {message.text(field).data, message.text(field).size});
      } else {
        PutTag(field, WireTypeOf(field.type));
        PutScalar(field.type, message.slot(field).bits);
      }
    }
    PutRaw(message.unknown_fields().data(), message.unknown_fields().size());
  }

  void WriteList(const Message& message, const FieldDescriptor& field) {
    if (field.storage == Storage::kMessage) {
      for (const Message* element : message.Elements<const Message* const>(field))
        PutMessage(field, *element);
    } else if (field.storage == Storage::kString) {
      for (std::string_view text : message.Elements<const std::string_view>(field))
        PutText(field, text);
    } else if (!field.packed) {
      ForEach(message, field, [&](uint64_t bits) {
        PutTag(field, WireTypeOf(field.type));
        PutScalar(field.type, bits);
      });
    } else {
      const size_t length = lengths_[next_length_++];
      PutTag(field, WireType::kLengthDelimited);
      PutVarint(length);
      if (WireTypeOf(field.type) != WireType::kVarint) {
        PutRaw(message.slot(field).repeated + 1, length);
      } else {
        ForEach(message, field, [&](uint64_t bits) { PutVarint(ToVarint(field.type, bits)); });
      }
    }
  }

  std::vector<size_t> lengths_;  // of messages and packed lists, in the order of writing
  size_t next_length_ = 0;
  char* next_ = nullptr;
};

namespace {

Result<size_t> Measure(WireEncoder& encoder, const Message& message, size_t max_bytes) {
  size_t size;
  if (!encoder.Measure(message, 0, &size)) {
    return InvalidArgument(message.type().short_name(), ": messages are nested more than ",
                           kMaxMessageDepth, " deep, which no reader accepts");
  }
  if (size > max_bytes) {
    return ResourceExhausted(message.type().short_name(), ": ", size, " bytes are more than the ",
                             max_bytes, " bytes that one message can hold");
  }
  return size;
}

}  // namespace

Result<size_t> SerializedSize(const Message& message) {
  WireEncoder encoder;
  return Measure(encoder, message, kMaxMessageBytes);
}

namespace {

Status Append(const Message& message, size_t max_bytes, std::string& out) {
  try {
    WireEncoder encoder;
    ASSIGN_OR_RETURN(const size_t size, Measure(encoder, message, max_bytes));
    const size_t start = out.size();
    out.resize(start + size);
    const char* end = encoder.Write(message, out.data() + start);
    CHECK(end == out.data() + out.size());
    return OkStatus();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(message.type().short_name(), ": no memory to write the message");
  }
}

}  // namespace

Status AppendSerialized(const Message& message, std::string& out) {
  return Append(message, kMaxMessageBytes, out);
}

Result<std::string> Serialize(const Message& message, size_t max_bytes) {
  std::string out;
  RETURN_IF_ERROR(Append(message, max_bytes, out));
  return out;
}

}  // namespace thalweg
