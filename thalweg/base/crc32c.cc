// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace thalweg {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78u;  // bit-reversed

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (size_t t = 1; t < 8; ++t) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

#if defined(__x86_64__)
// Long data are three streams at once: one instruction has to wait for the one before it on the
// same data, and three are on their way in that time.
constexpr size_t kStreamBytes = 4096;

using Matrix = std::array<uint32_t, 32>;  // what a state with that bit alone becomes

constexpr uint32_t Apply(const Matrix& matrix, uint32_t state) {
  uint32_t result = 0;
  for (size_t bit = 0; bit < 32; ++bit) result ^= ((state >> bit) & 1) != 0 ? matrix[bit] : 0;
  return result;
}

// How a state changes over kStreamBytes zeros, by its four bytes.
constexpr std::array<std::array<uint32_t, 256>, 4> MakeStreamShift() {
  Matrix matrix{};  // over one bit
  for (size_t bit = 0; bit < 32; ++bit) matrix[bit] = bit == 0 ? kPolynomial : 1u << (bit - 1);
  for (size_t bits = 1; bits < 8 * kStreamBytes; bits *= 2) {
    Matrix twice{};
    for (size_t bit = 0; bit < 32; ++bit) twice[bit] = Apply(matrix, matrix[bit]);
    matrix = twice;
  }
  std::array<std::array<uint32_t, 256>, 4> shift{};
  for (size_t byte = 0; byte < 4; ++byte) {
    for (uint32_t value = 0; value < 256; ++value) {
      shift[byte][value] = Apply(matrix, value << (8 * byte));
    }
  }
  return shift;
}

constexpr auto kStreamShift = MakeStreamShift();

inline uint64_t ShiftByStream(uint64_t state) {
  return kStreamShift[0][state & 0xff] ^ kStreamShift[1][(state >> 8) & 0xff] ^
         kStreamShift[2][(state >> 16) & 0xff] ^ kStreamShift[3][(state >> 24) & 0xff];
}

inline uint64_t LoadWord(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc,
                                                               std::string_view data) {
  const char* p = data.data();
  size_t n = data.size();
  uint64_t state = static_cast<uint32_t>(~crc);
  for (; n >= 3 * kStreamBytes; p += 3 * kStreamBytes, n -= 3 * kStreamBytes) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kStreamBytes; i += 8) {
      state = _mm_crc32_u64(state, LoadWord(p + i));
      second = _mm_crc32_u64(second, LoadWord(p + kStreamBytes + i));
      third = _mm_crc32_u64(third, LoadWord(p + 2 * kStreamBytes + i));
    }
    state = ShiftByStream(ShiftByStream(state) ^ second) ^ third;
  }
  for (; n >= 8; p += 8, n -= 8) state = _mm_crc32_u64(state, LoadWord(p));
  uint32_t tail = static_cast<uint32_t>(state);
  for (; n > 0; ++p, --n) tail = _mm_crc32_u8(tail, static_cast<uint8_t>(*p));
  return ~tail;
}
#endif

}  // namespace

uint32_t ExtendCrc32cByTable(uint32_t crc, std::string_view data) {
  const char* p = data.data();
  size_t n = data.size();
  uint32_t state = ~crc;
  for (; n >= 8; p += 8, n -= 8) {
    uint8_t b[8];
    std::memcpy(b, p, sizeof(b));
    state = kTables[7][(state & 0xff) ^ b[0]] ^ kTables[6][((state >> 8) & 0xff) ^ b[1]] ^
            kTables[5][((state >> 16) & 0xff) ^ b[2]] ^ kTables[4][(state >> 24) ^ b[3]] ^
            kTables[3][b[4]] ^ kTables[2][b[5]] ^ kTables[1][b[6]] ^ kTables[0][b[7]];
  }
  for (; n > 0; ++p, --n) {
    state = (state >> 8) ^ kTables[0][(state ^ static_cast<uint8_t>(*p)) & 0xff];
  }
  return ~state;
}

uint32_t ExtendCrc32c(uint32_t crc, std::string_view data) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ExtendByInstruction(crc, data);
#endif
  return ExtendCrc32cByTable(crc, data);
}

}  // namespace thalweg
