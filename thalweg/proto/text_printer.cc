// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <cmath>

#include "thalweg/proto/text_format.h"
#include "thalweg/proto/utf8.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

// The shortest digits that read back to the value, always with a point or an exponent: 1.0, 1e-05.
void AppendDouble(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[64];
  const char* end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t mark = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + mark + (text[mark + 1] == '+' ? 2 : 1), end, exponent);
  if (exponent < -4 || exponent >= 16) {
    out += text;
    return;
  }
  const size_t start = out.size();
  out.append(buffer,
             std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr);
  if (out.find('.', start) == std::string::npos) out += ".0";
}

// A float has few digits: the fewest, from 6 on, that give the same float again.
void AppendFloat(std::string& out, float value) {
  double shortest = value;
  for (int digits = 6; std::isfinite(value) && digits <= 9; ++digits) {
    char buffer[64];
    const char* end = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<double>(value),
                                    std::chars_format::general, digits)
                          .ptr;
    double candidate = 0;
    std::from_chars(buffer, end, candidate);
    if (static_cast<float>(candidate) == value) {
      shortest = candidate;
      break;
    }
  }
  AppendDouble(out, shortest);
}

// Text keeps its UTF-8 characters; every other byte that is not printable ASCII becomes an octal
// escape.
void AppendQuoted(std::string& out, std::string_view bytes, bool utf8) {
  out.push_back('"');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '"' || c == '\'' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c >= 0x20 && c < 0x7f) {
      out.push_back(c);
    } else if (const size_t size = utf8 && c < 0 ? Utf8CharSize(bytes.substr(i)) : 0; size > 1) {
      out += bytes.substr(i, size);
      i += size - 1;
    } else {
      const uint8_t byte = static_cast<uint8_t>(c);
      const char escape[] = {'\\', static_cast<char>('0' + (byte >> 6)),
                             static_cast<char>('0' + ((byte >> 3) & 7)),
                             static_cast<char>('0' + (byte & 7))};
      out.append(escape, sizeof(escape));
    }
  }
  out.push_back('"');
}

class TextPrinter {
 public:
  explicit TextPrinter(std::string& out) : out_(out) {}

  // False when messages are nested too deeply.
  bool Print(const Message& message, int depth) {
    const bool hide_defaults = message.type().map_entry && !message.type().proto2;
    for (const FieldDescriptor& field : message.type().fields) {
      if (!message.Has(field) || (hide_defaults && IsDefault(message, field))) continue;
      const bool ok =
          field.repeated ? PrintList(message, field, depth) : PrintSingle(message, field, depth);
      if (!ok) return false;
    }
    return true;
  }

 private:
  // Protobuf's Python text leaves these out of map entries, though the binary form has them.
  static bool IsDefault(const Message& entry, const FieldDescriptor& field) {
    switch (field.storage) {
      case Storage::kMessage:
        return false;
      case Storage::kString:
        return entry.GetString(field).empty();
      case Storage::kInt32:
      case Storage::kInt64:
        return entry.GetInt(field) == 0;
      case Storage::kUint32:
      case Storage::kUint64:
        return entry.GetUint(field) == 0;
      case Storage::kFloat:
        return std::bit_cast<uint32_t>(entry.GetFloat(field)) == 0;
      case Storage::kDouble:
        return std::bit_cast<uint64_t>(entry.GetDouble(field)) == 0;
      case Storage::kBool:
        return !entry.GetBool(field);
    }
    return false;
  }

  bool PrintMessage(const FieldDescriptor& field, const Message& message, int depth) {
    if (!field.map && depth == kMaxMessageDepth) return false;
    out_.append(indent_, ' ');
    out_ += field.name;
    out_ += " {\n";
    indent_ += 2;
    const bool ok = Print(message, field.map ? depth : depth + 1);
    indent_ -= 2;
    out_.append(indent_, ' ');
    out_ += "}\n";
    return ok;
  }

  void PrintString(const FieldDescriptor& field, std::string_view value) {
    BeginScalar(field);
    AppendQuoted(out_, value, field.type == FieldType::kString);
    out_.push_back('\n');
  }

  template <class T>
  void PrintScalar(const FieldDescriptor& field, T value) {
    BeginScalar(field);
    if constexpr (std::is_same_v<T, float>) {
      AppendFloat(out_, value);
    } else if constexpr (std::is_same_v<T, double>) {
      AppendDouble(out_, value);
    } else {
      const EnumValue* name = nullptr;
      if constexpr (std::is_same_v<T, int32_t>) {
        if (field.enumeration != nullptr) name = field.enumeration->FindByNumber(value);
      }
      if (name != nullptr) {
        out_ += name->name;
      } else {
        AppendPart(out_, value);
      }
    }
    out_.push_back('\n');
  }

  void BeginScalar(const FieldDescriptor& field) {
    out_.append(indent_, ' ');
    out_ += field.name;
    out_ += ": ";
  }

  bool PrintSingle(const Message& message, const FieldDescriptor& field, int depth) {
    switch (field.storage) {
      case Storage::kMessage:
        return PrintMessage(field, message.GetMessage(field), depth);
      case Storage::kString:
        PrintString(field, message.GetString(field));
        return true;
      case Storage::kInt32:
        PrintScalar(field, static_cast<int32_t>(message.GetInt(field)));
        return true;
      case Storage::kInt64:
        PrintScalar(field, message.GetInt(field));
        return true;
      case Storage::kUint32:
      case Storage::kUint64:
        PrintScalar(field, message.GetUint(field));
        return true;
      case Storage::kFloat:
        PrintScalar(field, message.GetFloat(field));
        return true;
      case Storage::kDouble:
        PrintScalar(field, message.GetDouble(field));
        return true;
      case Storage::kBool:
        PrintScalar(field, message.GetBool(field));
        return true;
    }
    return false;
  }

  template <class T>
  bool PrintScalars(const Message& message, const FieldDescriptor& field) {
    for (const T& value : message.Repeated<T>(field)) PrintScalar(field, value);
    return true;
  }

  bool PrintList(const Message& message, const FieldDescriptor& field, int depth) {
    switch (field.storage) {
      case Storage::kMessage:
        for (const Message* element : message.Messages(field)) {
          if (!PrintMessage(field, *element, depth)) return false;
        }
        return true;
      case Storage::kString:
        for (std::string_view value : message.Repeated<std::string_view>(field))
          PrintString(field, value);
        return true;
      case Storage::kInt32:
        return PrintScalars<int32_t>(message, field);
      case Storage::kInt64:
        return PrintScalars<int64_t>(message, field);
      case Storage::kUint32:
        return PrintScalars<uint32_t>(message, field);
      case Storage::kUint64:
        return PrintScalars<uint64_t>(message, field);
      case Storage::kFloat:
        return PrintScalars<float>(message, field);
      case Storage::kDouble:
        return PrintScalars<double>(message, field);
      case Storage::kBool:
        return PrintScalars<bool>(message, field);
    }
    return false;
  }

  std::string& out_;
  size_t indent_ = 0;
};

}  // namespace

Result<std::string> PrintText(const Message& message) {
  std::string out;
  try {
    if (!TextPrinter(out).Print(message, 0)) {
      return InvalidArgument(message.type().short_name(), ": messages are nested more than ",
                             kMaxMessageDepth, " deep, which no reader accepts");
    }
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(message.type().short_name(), ": no memory for the text");
  }
  return out;
}

}  // namespace thalweg
