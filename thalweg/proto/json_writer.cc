// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "thalweg/proto/utf8.h"

namespace thalweg {
namespace {

template <class T>
std::string JsonNumber(T value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr};
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string quoted = "\"";
  const bool utf8 = IsUtf8(text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data();
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    const size_t count = std::min(bytes.size() - i, size_t{3});
    for (size_t j = 0; j < count; ++j) {
      bits |= uint32_t{static_cast<uint8_t>(bytes[i + j])} << (16 - 8 * j);
    }
    for (size_t j = 0; j <= count; ++j) to[j] = kDigits[bits >> (18 - 6 * j) & 63];
    to += 4;
  }
  return out;
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  Literal(JsonText(name));
  text_ += ": ";
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Number(double value) { return Literal(JsonNumber(value)); }
JsonWriter& JsonWriter::Number(float value) { return Literal(JsonNumber(value)); }

JsonWriter& JsonWriter::Literal(std::string_view json) {
  if (needs_comma_) text_ += ", ";
  text_ += json;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Literal({&bracket, 1});
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

}  // namespace thalweg
