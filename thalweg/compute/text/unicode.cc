// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/unicode.h"

#include "thalweg/base/component.h"
#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/text/icu_api.h"
#include "thalweg/compute/text/utf8.h"

namespace thalweg::compute {
namespace {

// Open or not for the whole process, whoever asks.
const ThalwegIcuApi* Api() {
  static const ThalwegIcuApi* const api = []() -> const ThalwegIcuApi* {
    const auto entry =
        reinterpret_cast<ThalwegIcuEntry>(FindComponent("libthalweg_icu.so", "thalweg_icu"));
    return entry == nullptr ? nullptr : entry(THALWEG_ICU_VERSION);
  }();
  return api;
}

Status NoIcu(std::string_view what) {
  return Unimplemented(what, " needs libthalweg_icu.so (and ICU) beside the library");
}

uint32_t ByteAt(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

// The bytes of one character at `at`, as many as belong together: a character, or a bad beginning
// of one as long as it could still become one.
size_t NextUtf8(std::string_view bytes, size_t at, int32_t* character) {
  const uint32_t lead = ByteAt(bytes, at);
  *character = -1;
  if (lead < 0x80) {
    *character = static_cast<int32_t>(lead);
    return 1;
  }
  const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0) return 1;
  uint32_t code = lead & (0x7fu >> length);
  for (size_t k = 1; k < length; ++k) {
    if (at + k >= bytes.size() || !ContinuesUtf8(bytes[at + k])) return k;
    const uint32_t next = ByteAt(bytes, at + k);
    if (k == 1) {  // too long a form, a surrogate, or beyond the last character
      if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f) ||
          (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f)) {
        return 1;
      }
    }
    code = code << 6 | (next & 0x3f);
  }
  *character = static_cast<int32_t>(code);
  return length;
}

size_t NextUtf16(std::string_view bytes, size_t at, int32_t* character) {
  *character = -1;
  const size_t left = bytes.size() - at;
  if (left < 2) return left;
  const uint32_t first = ByteAt(bytes, at) << 8 | ByteAt(bytes, at + 1);
  if (first < 0xd800 || first > 0xdfff) {
    *character = static_cast<int32_t>(first);
    return 2;
  }
  if (first > 0xdbff) return 2;
  if (left < 4) return left;
  const uint32_t second = ByteAt(bytes, at + 2) << 8 | ByteAt(bytes, at + 3);
  if (second < 0xdc00 || second > 0xdfff) return 2;
  *character = static_cast<int32_t>(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
  return 4;
}

size_t NextUtf32(std::string_view bytes, size_t at, int32_t* character) {
  *character = -1;
  const size_t left = bytes.size() - at;
  if (left < 4) return left;
  uint32_t code = 0;
  for (size_t k = 0; k < 4; ++k) code = code << 8 | ByteAt(bytes, at + k);
  if (IsCharacter(code)) *character = static_cast<int32_t>(code);
  return 4;
}

Utf EncodingOf(std::string_view name) {
  if (name == "UTF-8") return Utf::k8;
  if (name == "UTF-16-BE" || name == "UTF-16BE") return Utf::k16Be;
  if (name == "UTF-32-BE" || name == "UTF-32BE") return Utf::k32Be;
  return Utf::kOther;
}

// The first byte holds the highest bits.
void AppendBytes(uint32_t number, int bytes, std::string& text) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(number >> shift));
  }
}

}  // namespace

Result<Utf> OutputEncoding(std::string_view name) {
  const Utf encoding = EncodingOf(name);
  if (encoding != Utf::kOther) return encoding;
  return InvalidArgument("output_encoding must be one of UTF-8, UTF-16-BE, or UTF-32-BE, got ",
                         name);
}

void AppendCharacter(Utf encoding, int32_t character, std::string& text) {
  const auto code = static_cast<uint32_t>(character);
  if (encoding == Utf::k32Be) {
    AppendBytes(code, 4, text);
  } else if (encoding == Utf::k16Be) {
    if (code < 0x10000) {
      AppendBytes(code, 2, text);
    } else {
      AppendBytes(0xd800 + ((code - 0x10000) >> 10), 2, text);
      AppendBytes(0xdc00 + ((code - 0x10000) & 0x3ff), 2, text);
    }
  } else if (code < 0x80) {
    text.push_back(static_cast<char>(code));
  } else {
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    text.push_back(static_cast<char>((0xff80 >> (more)) | code >> (6 * more)));
    for (int k = more - 1; k >= 0; --k) {
      text.push_back(static_cast<char>(0x80 | (code >> (6 * k) & 0x3f)));
    }
  }
}

Result<TextDecoder> TextDecoder::Make(const std::string& encoding) {
  TextDecoder decoder;
  decoder.encoding_ = EncodingOf(encoding);
  if (decoder.encoding_ != Utf::kOther) return decoder;
  if (Api() == nullptr) return NoIcu(StrCat("the encoding ", encoding));
  ThalwegIcuConverter* const converter = Api()->open(encoding.c_str());
  if (converter == nullptr) {
    return InvalidArgument("Could not create converter for input encoding: ", encoding);
  }
  Api()->close(converter);
  decoder.name_ = encoding;
  return decoder;
}

void TextDecoder::Decode(std::string_view bytes, const Sink& sink) const {
  if (encoding_ == Utf::kOther) {
    const auto close = [](ThalwegIcuConverter* opened) { Api()->close(opened); };
    const std::unique_ptr<ThalwegIcuConverter, decltype(close)> converter(
        Api()->open(name_.c_str()), close);
    if (converter == nullptr) return;
    Api()->decode(
        converter.get(), bytes.data(), bytes.size(),
        [](void* to, int32_t character, int64_t start) {
          Interruption::Look();
          (*static_cast<const Sink*>(to))(character, start);
        },
        const_cast<Sink*>(&sink));
    return;
  }
  const auto next = encoding_ == Utf::k8      ? NextUtf8
                    : encoding_ == Utf::k16Be ? NextUtf16
                                              : NextUtf32;
  for (size_t at = 0; at < bytes.size();) {
    Interruption::Look();
    int32_t character;
    const size_t length = next(bytes, at, &character);
    sink(character, static_cast<int64_t>(at));
    at += length;
  }
}

Result<UnicodeTables> UnicodeTables::Get() {
  UnicodeTables tables;
  tables.api_ = Api();
  if (tables.api_ == nullptr) return NoIcu("letters beyond ASCII, and scripts,");
  return tables;
}

std::string UnicodeTables::ChangeCase(std::string_view text, bool upper) const {
  std::string changed;
  api_->change_case(
      text.data(), text.size(), upper,
      [](void* to, const char* part, unsigned long size) {
        Interruption::Look();
        ThalwegAppendText(to, part, size);
      },
      &changed);
  return changed;
}

int32_t UnicodeTables::ScriptOf(int32_t character) const { return api_->script(character); }

}  // namespace thalweg::compute
