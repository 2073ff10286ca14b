// SPDX-License-Identifier: Apache-2.0
// Encodings of Unicode: text to characters and back. UTF-8, UTF-16-BE and UTF-32-BE are our own;
// other encodings, scripts and letter cases are ICU's and need libthalweg_icu.so beside the
// library (else Unimplemented).
//
//   ASSIGN_OR_RETURN(const TextDecoder decoder, TextDecoder::Make("UTF-8"));
//   decoder.Decode("a\xff", [](int32_t character, int64_t start) {...});   // 'a' at 0, -1 at 1
// Long texts look for an Interruption.
// Ownership: a decoder is a value; UnicodeTables points at the component's table, which is static.
// Threads: const members from any.
// Errors: InvalidArgument for an encoding that nobody knows, Unimplemented where the component is
// missing; Interruption::Stop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"

struct ThalwegIcuApi;

namespace thalweg::compute {

// The ones with decoders and encoders of their own.
enum class Utf : uint8_t { k8, k16Be, k32Be, kOther };
// InvalidArgument for a name that is none of the three.
Result<Utf> OutputEncoding(std::string_view name);

// Not a surrogate, and not beyond the last character.
inline bool IsCharacter(int64_t c) { return c >= 0 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff); }
// Adds a character (IsCharacter) to the text.
void AppendCharacter(Utf encoding, int32_t character, std::string& text);

class TextDecoder {
 public:
  // Gets each character and the byte at which it begins; -1 for a sequence of bytes that is none.
  using Sink = std::function<void(int32_t character, int64_t start)>;

  // InvalidArgument for an encoding that nobody knows.
  static Result<TextDecoder> Make(const std::string& encoding);
  void Decode(std::string_view bytes, const Sink& sink) const;

 private:
  Utf encoding_ = Utf::k8;
  std::string name_;  // for ICU
};

class UnicodeTables {
 public:
  static Result<UnicodeTables> Get();
  // Bad bytes become U+FFFD.
  std::string ChangeCase(std::string_view text, bool upper) const;
  // ICU's number of the script, -1 for no character.
  int32_t ScriptOf(int32_t character) const;

 private:
  const ThalwegIcuApi* api_ = nullptr;
};

}  // namespace thalweg::compute
