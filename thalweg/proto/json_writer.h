// SPDX-License-Identifier: Apache-2.0
// JsonWriter: JSON text, value by value; commas and quotes are its business.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("tag").Text("loss");
//   json.Key("values").BeginList();
//   for (double value : {0.5, 0.25}) json.Number(value);
//   json.EndList().EndObject();
//   Use(json.Take());  // {"tag": "loss", "values": [0.5, 0.25]}
//
// JSON has no NaN and no infinities: they are the texts "NaN", "Infinity" and "-Infinity".
// Ownership: owns its text until Take() gives it away.
// Threads: one.
// Errors: none; a caller that opens and closes out of order gets what it wrote.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace thalweg {

// The text in quotes. Where it is not UTF-8, each byte above 127 becomes an escape of its number.
std::string JsonText(std::string_view text);
// With padding, and the digits '+' and '/'.
std::string Base64(std::string_view bytes);

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginList() { return Open('['); }
  JsonWriter& EndList() { return Close(']'); }
  JsonWriter& Key(std::string_view name);
  JsonWriter& Text(std::string_view text) { return Literal(JsonText(text)); }
  JsonWriter& Bool(bool value) { return Literal(value ? "true" : "false"); }
  JsonWriter& Null() { return Literal("null"); }
  // The shortest digits that read back to the value.
  JsonWriter& Number(double value);
  JsonWriter& Number(float value);
  template <std::integral T>
  JsonWriter& Number(T value) {
    return Literal(std::to_string(value));
  }
  // Text that is JSON already.
  JsonWriter& Literal(std::string_view json);

  size_t size() const { return text_.size(); }
  std::string Take() { return std::move(text_); }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace thalweg
