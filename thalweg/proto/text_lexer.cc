// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/text_lexer.h"

#include <algorithm>

#include "thalweg/base/str_cat.h"
#include "thalweg/proto/utf8.h"

namespace thalweg {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string TextLexer::Place(size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return StrCat(line, ":", offset - start + 1);
}

void TextLexer::SkipBlanks() {
  while (next_ < text_.size()) {
    const char c = text_[next_];
    if (c == '#') {
      next_ = std::min(text_.find('\n', next_), text_.size());
    } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++next_;
    } else {
      return;
    }
  }
}

void TextLexer::Take(TextTokenKind kind, size_t end) {
  token_ = {kind, text_.substr(next_, end - next_), next_};
  next_ = end;
}

void TextLexer::Bad(const char* error, size_t end) {
  error_ = error;
  Take(TextTokenKind::kBad, end);
}

void TextLexer::Advance() {
  SkipBlanks();
  if (next_ == text_.size()) {
    token_ = {TextTokenKind::kEnd, {}, next_};
    return;
  }
  const char c = text_[next_];
  size_t end = next_ + 1;
  if (IsLetter(c)) {
    while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) ++end;
    return Take(TextTokenKind::kIdentifier, end);
  }
  if (IsDigit(c) || (c == '.' && end < text_.size() && IsDigit(text_[end]))) {
    end = NumberEnd(next_);
    if (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]) || text_[end] == '.')) {
      return Bad("a malformed number", end + 1);
    }
    return Take(TextTokenKind::kNumber, end);
  }
  if (c == '"' || c == '\'') return LexString();
  if (std::string_view("{}<>[]:,;-./").find(c) != std::string_view::npos)
    return Take(TextTokenKind::kSymbol, end);
  Bad("a character that begins nothing", end);
}

size_t TextLexer::NumberEnd(size_t at) const {
  auto digits = [&] {
    while (at < text_.size() && IsDigit(text_[at])) ++at;
  };
  auto any_of = [&](std::string_view chars) {
    return at < text_.size() && chars.find(text_[at]) != chars.npos;
  };
  if (text_[at] == '0' && at + 1 < text_.size() && (text_[at + 1] | 0x20) == 'x') {
    at += 2;
    while (at < text_.size() && HexDigit(text_[at]) >= 0) ++at;
    return at;
  }
  digits();
  if (any_of(".")) {
    ++at;
    digits();
  }
  if (any_of("eE")) {
    ++at;
    if (any_of("+-")) ++at;
    digits();
  }
  if (any_of("fF")) ++at;
  return at;
}

void TextLexer::LexString() {
  const char quote = text_[next_];
  for (size_t at = next_ + 1; at < text_.size() && text_[at] != '\n'; ++at) {
    if (text_[at] == quote) return Take(TextTokenKind::kString, at + 1);
    if (text_[at] == '\\' && ++at < text_.size() && text_[at] == '\n') break;
  }
  Bad("a string without its closing quote on the same line", next_ + 1);
}

namespace {

// Reads up to `most` digits of a base; false when there is none.
bool ReadDigits(std::string_view text, size_t& at, int base, int most, uint32_t& value) {
  const size_t start = at;
  value = 0;
  for (; most > 0 && at < text.size(); --most, ++at) {
    const int digit = HexDigit(text[at]);
    if (digit < 0 || digit >= base) break;
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
  }
  return at != start;
}

// The escape whose backslash is at `at`; moves behind it.
const char* AppendEscape(std::string& out, std::string_view text, size_t& at) {
  const char c = text[++at];
  constexpr std::string_view kNames = "abfnrtv\\'\"?";
  constexpr std::string_view kBytes = "\a\b\f\n\r\t\v\\'\"?";
  if (const size_t known = kNames.find(c); known != std::string_view::npos) {
    out.push_back(kBytes[known]);
    ++at;
    return nullptr;
  }
  uint32_t value;
  if (c >= '0' && c <= '7') {
    ReadDigits(text, at, 8, 3, value);
    if (value > 255) return "an octal escape of more than a byte";
    out.push_back(static_cast<char>(value));
    return nullptr;
  }
  if (c == 'x' || c == 'X') {
    if (!ReadDigits(text, ++at, 16, 2, value)) return "a hexadecimal escape without digits";
    out.push_back(static_cast<char>(value));
    return nullptr;
  }
  if (c == 'u' || c == 'U') {
    const int digits = c == 'u' ? 4 : 8;
    const size_t end = ++at + static_cast<size_t>(digits);
    if (!ReadDigits(text, at, 16, digits, value) || at != end)
      return "a Unicode escape with too few digits";
    return AppendUtf8(out, value) ? nullptr : "a Unicode escape that is no character";
  }
  return "an unknown escape";
}

}  // namespace

TextEscapeError AppendUnescaped(std::string& out, std::string_view quoted) {
  const std::string_view text = quoted.substr(0, quoted.size() - 1);
  for (size_t at = 1; at < text.size();) {
    const size_t plain = std::min(text.find('\\', at), text.size());
    out.append(text, at, plain - at);
    at = plain;
    if (at == text.size()) break;
    const size_t start = at;
    if (const char* what = AppendEscape(out, text, at); what != nullptr) return {what, start};
  }
  return {};
}

}  // namespace thalweg
