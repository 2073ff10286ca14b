// SPDX-License-Identifier: Apache-2.0
// The recorded outputs of TensorFlow's random operations (tests/golden/random), as digests; SHA-256
// to compare them with.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct RecordedRow {
  std::string op;
  std::string dtype;
  std::string argument;
  int64_t seed = 0;
  int64_t seed2 = 0;
  int run = 0;
  std::string digest;
  bool IsRunOfSameNode(const RecordedRow& other) const {
    return op == other.op && dtype == other.dtype && argument == other.argument &&
           seed == other.seed && seed2 == other.seed2;
  }
};

inline std::vector<RecordedRow> RecordedRows() {
  std::vector<RecordedRow> rows;
  std::ifstream file(THALWEG_GOLDEN_DIR "/random/random_digests.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    RecordedRow row;
    std::istringstream(line) >> row.op >> row.dtype >> row.argument >> row.seed >> row.seed2 >>
        row.run >> row.digest;
    rows.push_back(std::move(row));
  }
  return rows;
}

// FIPS 180-4, hexadecimal.
inline std::string Sha256(std::string bytes) {
  // The first 32 bits of the fractional parts of cube roots of primes.
  static const std::array<uint32_t, 64> k = [] {
    std::array<uint32_t, 64> roots;
    int found = 0;
    for (uint64_t n = 2; found < 64; ++n) {
      bool prime = true;
      for (uint64_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
      if (!prime) continue;
      // floor(2^32 cbrt(n)) by bisection: x^3 <= n 2^96.
      unsigned __int128 low = 0, high = uint64_t{8} << 32;
      while (high - low > 1) {
        const unsigned __int128 x = (low + high) / 2;
        const unsigned __int128 bound = static_cast<unsigned __int128>(n) << 96;
        (x * x <= bound / x ? low : high) = x;
      }
      roots[found++] = static_cast<uint32_t>(low);
    }
    return roots;
  }();
  std::array<uint32_t, 8> h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint64_t bits = bytes.size() * 8;
  bytes.push_back('\x80');
  bytes.resize((bytes.size() + 8 + 63) / 64 * 64);
  for (int i = 0; i < 8; ++i) bytes[bytes.size() - 1 - i] = static_cast<char>(bits >> (8 * i));
  for (size_t at = 0; at < bytes.size(); at += 64) {
    std::array<uint32_t, 64> w{};
    for (int i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<uint8_t>(bytes[at + i]);
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    std::array<uint32_t, 8> s = h;
    for (int i = 0; i < 64; ++i) {
      const uint32_t t1 = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                          ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
      const uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                          ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      std::rotate(s.begin(), s.end() - 1, s.end());
      s[0] = t1 + t2;
      s[4] += t1;
    }
    for (int i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string text;
  for (uint32_t word : h) {
    for (int i = 28; i >= 0; i -= 4) text.push_back("0123456789abcdef"[word >> i & 15]);
  }
  return text;
}

inline std::string DigestOf(const Tensor& tensor) {
  return Sha256(std::string(static_cast<const char*>(tensor.raw_data()), tensor.bytes()));
}

}  // namespace thalweg
