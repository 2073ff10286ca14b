// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/base64.h"

#include <array>
#include <cstdint>

#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<int8_t, 256> MakeDigits() {
  std::array<int8_t, 256> digits{};
  digits.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return digits;
}
constexpr std::array<int8_t, 256> kDigits = MakeDigits();

}  // namespace

std::string EncodeBase64(std::string_view bytes, bool pad) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    LookAtBlocks(i);
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      if (k <= n) {
        text.push_back(kAlphabet[group >> (18 - 6 * k) & 63]);
      } else if (pad) {
        text.push_back('=');
      }
    }
  }
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 == 0 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    if (text.back() == '=') text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  int bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    LookAtBlocks(i);
    const int digit = kDigits[static_cast<unsigned char>(text[i])];
    if (digit < 0) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<char>(group >> bits));
    }
  }
  return bytes;
}

}  // namespace thalweg::compute
