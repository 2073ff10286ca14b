// SPDX-License-Identifier: Apache-2.0
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <limits>
#include <string>

#include "thalweg/compute/text/icu_api.h"

namespace {

constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max() / 4;
constexpr int32_t kPartBytes = 1 << 13;
constexpr UChar32 kSigma = 0x3a3;  // whose small form depends on the letters around it

// Between two characters over which no sigma looks for letters.
bool MayCutAfter(UChar32 c) {
  return c >= 0 && c != kSigma && u_hasBinaryProperty(c, UCHAR_CASE_IGNORABLE) == 0;
}

// How much of the text can be changed by itself: little more than kPartBytes.
size_t SizeOfPart(const char* chars, size_t size) {
  const auto* const text = reinterpret_cast<const uint8_t*>(chars);
  const auto end = static_cast<int32_t>(std::min(size, kMostBytes));
  int32_t at = kPartBytes;
  if (at >= end) return size;
  U8_SET_CP_START(text, 0, at);
  bool may_cut = false;
  while (at < end) {
    const int32_t before = at;
    UChar32 c;
    U8_NEXT(text, at, end, c);
    const bool may_cut_after = MayCutAfter(c);
    if (may_cut && may_cut_after) return static_cast<size_t>(before);
    may_cut = may_cut_after;
  }
  return size;
}

int ChangePart(const char* text, size_t size, int upper, ThalwegIcuAppend append, void* to) {
  if (size > kMostBytes) return 0;
  std::u16string wide(size, u'\0');
  UErrorCode error = U_ZERO_ERROR;
  int32_t length = 0;
  u_strFromUTF8WithSub(wide.data(), static_cast<int32_t>(wide.size()), &length, text,
                       static_cast<int32_t>(size), 0xfffd, nullptr, &error);
  if (error > U_ZERO_ERROR) return 0;
  std::u16string changed(static_cast<size_t>(length) * 3 + 1, u'\0');
  error = U_ZERO_ERROR;
  const auto room = static_cast<int32_t>(changed.size());
  const int32_t n = upper != 0
                        ? u_strToUpper(changed.data(), room, wide.data(), length, "", &error)
                        : u_strToLower(changed.data(), room, wide.data(), length, "", &error);
  if (error > U_ZERO_ERROR) return 0;
  std::string narrow(static_cast<size_t>(n) * 3 + 1, '\0');
  error = U_ZERO_ERROR;
  int32_t bytes = 0;
  u_strToUTF8(narrow.data(), static_cast<int32_t>(narrow.size()), &bytes, changed.data(), n,
              &error);
  if (error > U_ZERO_ERROR) return 0;
  append(to, narrow.data(), static_cast<unsigned long>(bytes));
  return 1;
}

int ChangeCase(const char* text, size_t size, int upper, ThalwegIcuAppend append, void* to) {
  while (size > 0) {
    const size_t part = SizeOfPart(text, size);
    if (ChangePart(text, part, upper, append, to) == 0) return 0;
    text += part;
    size -= part;
  }
  return 1;
}

int32_t Script(int32_t character) {
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(character, &error);
  return error > U_ZERO_ERROR ? -1 : script;
}

ThalwegIcuConverter* Open(const char* encoding) {
  UErrorCode error = U_ZERO_ERROR;
  UConverter* const converter = ucnv_open(encoding, &error);
  if (error > U_ZERO_ERROR) {
    if (converter != nullptr) ucnv_close(converter);
    return nullptr;
  }
  ucnv_setToUCallBack(converter, UCNV_TO_U_CALLBACK_STOP, nullptr, nullptr, nullptr, &error);
  return reinterpret_cast<ThalwegIcuConverter*>(converter);
}

void Close(ThalwegIcuConverter* converter) { ucnv_close(reinterpret_cast<UConverter*>(converter)); }

void Decode(ThalwegIcuConverter* converter, const char* bytes, size_t size,
            ThalwegIcuCharacter character, void* to) {
  auto* const c = reinterpret_cast<UConverter*>(converter);
  ucnv_reset(c);
  const char* at = bytes;
  const char* const end = bytes + size;
  while (at < end) {
    const char* const before = at;
    UErrorCode error = U_ZERO_ERROR;
    const UChar32 next = ucnv_getNextUChar(c, &at, end, &error);
    if (error == U_INDEX_OUTOFBOUNDS_ERROR) return;
    character(to, error > U_ZERO_ERROR ? -1 : next, before - bytes);
    if (error <= U_ZERO_ERROR) continue;
    if (at == before) ++at;
    ucnv_reset(c);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ThalwegIcuApi* thalweg_icu(int version) {
  static const ThalwegIcuApi api = {ChangeCase, Script, Open, Close, Decode};
  return version == THALWEG_ICU_VERSION ? &api : nullptr;
}
