// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/utf8.h"

#include <cstdint>
#include <cstring>

namespace thalweg {

size_t Utf8CharSize(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const uint8_t lead = static_cast<uint8_t>(bytes[0]);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xf0 ? 4 : (lead >= 0xe0 ? 3 : 2);
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < size) return 0;
  // The second byte decides about overlong forms, surrogates and the upper end.
  const uint8_t second = static_cast<uint8_t>(bytes[1]);
  const uint8_t least = lead == 0xe0 ? 0xa0 : (lead == 0xf0 ? 0x90 : 0x80);
  const uint8_t most = lead == 0xed ? 0x9f : (lead == 0xf4 ? 0x8f : 0xbf);
  if (second < least || second > most) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((static_cast<uint8_t>(bytes[i]) & 0xc0) != 0x80) return 0;
  }
  return size;
}

bool IsUtf8(std::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    uint64_t word;
    while (bytes.size() - i >= sizeof(word)) {
      std::memcpy(&word, bytes.data() + i, sizeof(word));
      if ((word & 0x8080808080808080u) != 0) break;
      i += sizeof(word);
    }
    while (i < bytes.size() && static_cast<uint8_t>(bytes[i]) < 0x80) ++i;
    if (i == bytes.size()) break;
    const size_t size = Utf8CharSize(bytes.substr(i));
    if (size == 0) return false;
    i += size;
  }
  return true;
}

bool AppendUtf8(std::string& out, uint32_t code_point) {
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) return false;
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
    return true;
  }
  const int more = code_point < 0x800 ? 1 : (code_point < 0x10000 ? 2 : 3);
  constexpr uint8_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out.push_back(static_cast<char>(kLead[more] | code_point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    out.push_back(static_cast<char>(0x80 | ((code_point >> (6 * i)) & 0x3f)));
  }
  return true;
}

}  // namespace thalweg
