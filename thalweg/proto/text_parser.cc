// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>
#include <new>
#include <vector>

#include "thalweg/proto/text_format.h"
#include "thalweg/proto/text_lexer.h"
#include "thalweg/proto/utf8.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr size_t kShownBytes = 40;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Decimal, hexadecimal or octal digits; false when they are malformed or beyond 64 bits.
bool ReadInteger(std::string_view text, uint64_t* value) {
  int base = 10;
  if (text.size() > 2 && (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}

// A number too large for a double is infinite, one too small is zero.
bool ReadDecimal(std::string_view text, double* value) {
  if (text.ends_with('f') || text.ends_with('F')) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (end != text.data() + text.size()) return false;
  if (error == std::errc::result_out_of_range) {
    const size_t exponent = text.find_first_of("eE");
    const bool small = exponent == std::string_view::npos
                           ? text.find_first_not_of('0') == text.find('.')
                           : text[exponent + 1] == '-';
    *value = small ? 0 : std::numeric_limits<double>::infinity();
    return true;
  }
  return error == std::errc();
}

}  // namespace

// Nesting is limited, so the recursion is. A failure is noted once; the levels above add their part
// of the path.
class TextParser {
 public:
  TextParser(std::string_view text, Arena* arena) : lexer_(text), arena_(arena) {}

  Status Parse(Message& message) {
    if (ParseBody(message, '\0', 0)) return OkStatus();
    std::string where(message.type().short_name());
    for (auto part = path_.rbegin(); part != path_.rend(); ++part)
      where = StrCat(where, ".", *part);
    return Status(code_, StrCat(lexer_.Place(offset_), ": ", where, ": ", what_));
  }

 private:
  const TextToken& token() const { return lexer_.token(); }
  bool Accept(char symbol) {
    if (!token().Is(symbol)) return false;
    lexer_.Advance();
    return true;
  }

  bool Fail(size_t offset, std::string what) {
    offset_ = offset;
    what_ = std::move(what);
    return false;
  }
  // The present token is not what was expected.
  bool Expected(std::string_view what) {
    std::string found;
    if (token().kind == TextTokenKind::kBad) {
      found = lexer_.error();
    } else if (token().kind == TextTokenKind::kEnd) {
      found = "the end of the text";
    } else if (token().text.size() > kShownBytes) {
      found = StrCat("'", token().text.substr(0, kShownBytes), "...'");
    } else {
      found = StrCat("'", token().text, "'");
    }
    return Fail(token().offset, StrCat("expected ", what, ", found ", found));
  }

  // Fields up to `close`, or up to the end for 0.
  bool ParseBody(Message& message, char close, int depth) {
    const bool ok = ParseFields(message, close, depth);
    if ((message.has_ & message.type_->map_mask) != 0) message.SortMaps();
    return ok;
  }

  bool ParseFields(Message& message, char close, int depth) {
    while (true) {
      if (close == '\0' ? token().kind == TextTokenKind::kEnd : token().Is(close)) return true;
      if (token().Is('['))
        return Fail(token().offset, "extensions and expanded Any messages are not supported");
      if (token().kind != TextTokenKind::kIdentifier) {
        return Expected(close == '\0' ? std::string("a field name")
                                      : StrCat("a field name or '", close, "'"));
      }
      const FieldDescriptor* field = message.type_->FindByName(token().text);
      if (field == nullptr) {
        return Fail(token().offset, StrCat("unknown field '", token().text, "' of message ",
                                           message.type_->full_name));
      }
      if (!CheckSingle(message, *field)) return false;
      lexer_.Advance();
      if (!ParseField(message, *field, depth)) return FailIn(message, *field);
      if (!Accept(',')) Accept(';');
      if (arena_->reserved() > ParseOptions().max_memory) {
        code_ = Code::kResourceExhausted;
        return Fail(token().offset, StrCat("the message needs more than the limit of ",
                                           ParseOptions().max_memory, " bytes of memory"));
      }
    }
  }

  bool CheckSingle(const Message& message, const FieldDescriptor& field) {
    if (field.repeated) return true;
    if (message.has(field)) {
      return Fail(token().offset,
                  StrCat("field '", field.name, "' is not repeated and has a value already"));
    }
    if (const FieldDescriptor* other = message.WhichOneof(field); other != nullptr) {
      return Fail(token().offset, StrCat("field '", field.name, "' and field '", other->name,
                                         "' exclude each other"));
    }
    return true;
  }

  bool FailIn(const Message& message, const FieldDescriptor& field) {
    std::string part(field.name);
    if (field.repeated && field.storage == Storage::kMessage && message.has(field)) {
      part = StrCat(part, "[", message.Size(field) - 1, "]");
    }
    path_.push_back(std::move(part));
    return false;
  }

  bool ParseField(Message& message, const FieldDescriptor& field, int depth) {
    const bool colon = Accept(':');
    if (!colon && field.storage != Storage::kMessage) return Expected("':'");
    if (!field.repeated || !Accept('[')) return ParseValue(message, field, depth);
    if (Accept(']')) return true;
    do {
      if (!ParseValue(message, field, depth)) return false;
    } while (Accept(','));
    return Accept(']') || Expected("',' or ']'");
  }

  bool ParseValue(Message& message, const FieldDescriptor& field, int depth) {
    switch (field.storage) {
      case Storage::kMessage:
        return ParseMessage(message, field, depth);
      case Storage::kString:
        return ParseString(message, field);
      case Storage::kFloat:
      case Storage::kDouble:
        return ParseFloating(message, field);
      case Storage::kBool:
        return ParseBool(message, field);
      default:
        return field.enumeration != nullptr && token().kind == TextTokenKind::kIdentifier
                   ? ParseEnumName(message, field)
                   : ParseInteger(message, field);
    }
  }

  bool ParseMessage(Message& message, const FieldDescriptor& field, int depth) {
    const char close = token().Is('<') ? '>' : '}';
    if (!Accept('{') && !Accept('<')) return Expected("'{'");
    if (!field.map && depth == kMaxMessageDepth) {
      return Fail(token().offset,
                  StrCat("messages are nested more than ", kMaxMessageDepth, " deep"));
    }
    Message* child = field.repeated ? message.AddField(field) : message.MutableField(field);
    const bool ok = ParseBody(*child, close, field.map ? depth : depth + 1);
    if (field.map) child->CompleteEntry();
    if (ok) lexer_.Advance();
    return ok;
  }

  bool ParseString(Message& message, const FieldDescriptor& field) {
    if (token().kind != TextTokenKind::kString) return Expected("a quoted string");
    const size_t start = token().offset;
    std::string value;
    for (; token().kind == TextTokenKind::kString; lexer_.Advance()) {
      const TextEscapeError error = AppendUnescaped(value, token().text);
      if (error.what != nullptr)
        return Fail(token().offset + error.offset, StrCat("the string has ", error.what));
    }
    if (field.utf8 && !IsUtf8(value)) return Fail(start, "expected UTF-8, found other bytes");
    const std::string_view kept = arena_->Copy(value);
    if (field.repeated) {
      message.AddBorrowed(field, kept);
    } else {
      message.SetText(field, kept);
    }
    return true;
  }

  bool ParseFloating(Message& message, const FieldDescriptor& field) {
    const bool negative = Accept('-');
    double value = 0;
    if (token().kind == TextTokenKind::kIdentifier) {
      const std::string name = Lower(token().text);
      if (name == "nan") {
        value = std::numeric_limits<double>::quiet_NaN();
      } else if (name == "inf" || name == "infinity") {
        value = std::numeric_limits<double>::infinity();
      } else {
        return Expected("a number");
      }
    } else if (token().kind != TextTokenKind::kNumber || !ReadDecimal(token().text, &value)) {
      return Expected("a decimal number");
    }
    lexer_.Advance();
    if (negative) value = -value;
    if (field.storage == Storage::kFloat) {
      // Out of the range of a float the conversion gives infinity.
      const float narrow = static_cast<float>(value);
      field.repeated ? message.AddFloat(field, narrow) : message.SetFloat(field, narrow);
    } else {
      field.repeated ? message.AddDouble(field, value) : message.SetDouble(field, value);
    }
    return true;
  }

  bool ParseBool(Message& message, const FieldDescriptor& field) {
    const std::string_view text = token().text;
    const bool is_true = text == "true" || text == "True" || text == "t" || text == "1";
    const bool is_false = text == "false" || text == "False" || text == "f" || text == "0";
    if (!is_true && !is_false) return Expected("true or false");
    lexer_.Advance();
    field.repeated ? message.AddBool(field, is_true) : message.SetBool(field, is_true);
    return true;
  }

  bool ParseEnumName(Message& message, const FieldDescriptor& field) {
    const EnumValue* value = field.enumeration->FindByName(token().text);
    if (value == nullptr) return Expected(StrCat("a value of enum ", field.enumeration->full_name));
    lexer_.Advance();
    field.repeated ? message.AddInt(field, value->number) : message.SetInt(field, value->number);
    return true;
  }

  bool ParseInteger(Message& message, const FieldDescriptor& field) {
    const size_t start = token().offset;
    const bool is_signed = field.storage == Storage::kInt32 || field.storage == Storage::kInt64;
    const bool is_narrow = field.storage == Storage::kInt32 || field.storage == Storage::kUint32;
    const bool negative = is_signed && Accept('-');
    uint64_t value = 0;
    if (token().kind != TextTokenKind::kNumber) {
      return Expected(field.enumeration != nullptr
                          ? StrCat("a value of enum ", field.enumeration->full_name)
                          : std::string(is_signed ? "an integer" : "an unsigned integer"));
    }
    const int bits = (is_narrow ? 32 : 64) - (is_signed ? 1 : 0);
    const uint64_t most =
        (bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1) + (negative ? 1 : 0);
    if (!ReadInteger(token().text, &value) || value > most) {
      return Fail(start, StrCat("expected an integer that fits ", is_narrow ? 32 : 64, " bits",
                                is_signed ? "" : " without sign", ", found '", negative ? "-" : "",
                                token().text.substr(0, kShownBytes), "'"));
    }
    lexer_.Advance();
    if (negative) value = 0 - value;
    if (is_signed) {
      const int64_t number = static_cast<int64_t>(value);
      field.repeated ? message.AddInt(field, number) : message.SetInt(field, number);
    } else {
      field.repeated ? message.AddUint(field, value) : message.SetUint(field, value);
    }
    return true;
  }

  TextLexer lexer_;
  Arena* const arena_;
  Code code_ = Code::kInvalidArgument;
  size_t offset_ = 0;
  std::string what_;
  std::vector<std::string> path_;  // innermost first
};

Result<OwnedMessage> ParseText(const MessageDescriptor& type, std::string_view text) {
  if (text.size() > kMaxMessageBytes) {
    return ResourceExhausted(type.short_name(), ": ", text.size(),
                             " bytes of text are more than the limit of ", kMaxMessageBytes);
  }
  try {
    OwnedMessage message(type);
    RETURN_IF_ERROR(TextParser(text, &message->arena()).Parse(*message));
    return message;
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(type.short_name(), ": no memory for ", text.size(), " bytes of text");
  }
}

}  // namespace thalweg
