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
// Data are three streams at once: one instruction has to wait for the one before it on the same
// data, and three are on their way in that time. Streams that are joined cost a few lookups: long
// ones for large tensors, short ones for what is left and for records of some hundred bytes.
constexpr size_t kLongStream = 4096;
constexpr size_t kShortStream = 256;

using Matrix = std::array<uint32_t, 32>;  // what a state with that bit alone becomes

constexpr uint32_t Apply(const Matrix& matrix, uint32_t state) {
  uint32_t result = 0;
  for (size_t bit = 0; bit < 32; ++bit) result ^= ((state >> bit) & 1) != 0 ? matrix[bit] : 0;
  return result;
}

// How a state changes over so many zeros, by its four bytes.
constexpr std::array<std::array<uint32_t, 256>, 4> MakeStreamShift(size_t bytes) {
  Matrix matrix{};  // over one bit
  for (size_t bit = 0; bit < 32; ++bit) matrix[bit] = bit == 0 ? kPolynomial : 1u << (bit - 1);
  for (size_t bits = 1; bits < 8 * bytes; bits *= 2) {
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

template <size_t kBytes>
constexpr auto kStreamShift = MakeStreamShift(kBytes);

template <size_t kBytes>
inline uint64_t ShiftByStream(uint64_t state) {
  constexpr auto& shift = kStreamShift<kBytes>;
  return shift[0][state & 0xff] ^ shift[1][(state >> 8) & 0xff] ^ shift[2][(state >> 16) & 0xff] ^
         shift[3][(state >> 24) & 0xff];
}

inline uint64_t LoadWord(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// Takes as many bytes off the front as three streams have, as often as there are so many.
template <size_t kBytes>
__attribute__((target("sse4.2"))) uint64_t ExtendByStreams(uint64_t state, std::string_view* data) {
  const char* p = data->data();
  size_t n = data->size();
  for (; n >= 3 * kBytes; p += 3 * kBytes, n -= 3 * kBytes) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kBytes; i += 8) {
      state = _mm_crc32_u64(state, LoadWord(p + i));
      second = _mm_crc32_u64(second, LoadWord(p + kBytes + i));
      third = _mm_crc32_u64(third, LoadWord(p + 2 * kBytes + i));
    }
    state = ShiftByStream<kBytes>(ShiftByStream<kBytes>(state) ^ second) ^ third;
  }
  *data = std::string_view(p, n);
  return state;
}

__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc,
                                                               std::string_view data) {
  uint64_t state = static_cast<uint32_t>(~crc);
  state = ExtendByStreams<kLongStream>(state, &data);
  state = ExtendByStreams<kShortStream>(state, &data);
  const char* p = data.data();
  size_t n = data.size();
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
