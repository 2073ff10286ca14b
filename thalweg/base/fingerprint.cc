// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace thalweg {
namespace {

// Primes between 2^63 and 2^64.
constexpr uint64_t kA = 0xc3a5c85c97cb3127u;
constexpr uint64_t kB = 0xb492b66fbe98f273u;
constexpr uint64_t kC = 0x9ae16a3b2f90404fu;
constexpr uint64_t kSeed = 81;

uint64_t Word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}
uint64_t HalfWord(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, 4);
  return word;
}
uint64_t Byte(char c) { return static_cast<unsigned char>(c); }
uint64_t Right(uint64_t x, int bits) { return std::rotr(x, bits); }
uint64_t Fold(uint64_t x) { return x ^ (x >> 47); }
uint64_t Mix(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = Fold((u ^ v) * factor);
  return Fold((v ^ a) * factor) * factor;
}

uint64_t UpTo16(const char* s, uint64_t n) {
  const uint64_t factor = kC + n * 2;
  if (n >= 8) {
    const uint64_t a = Word(s) + kC;
    const uint64_t b = Word(s + n - 8);
    return Mix(Right(b, 37) * factor + a, (Right(a, 25) + b) * factor, factor);
  }
  if (n >= 4) return Mix(n + (HalfWord(s) << 3), HalfWord(s + n - 4), factor);
  if (n == 0) return kC;
  const uint64_t y = Byte(s[0]) + (Byte(s[n / 2]) << 8);
  const uint64_t z = n + (Byte(s[n - 1]) << 2);
  return Fold(y * kC ^ z * kA) * kC;
}

uint64_t UpTo32(const char* s, uint64_t n) {
  const uint64_t factor = kC + n * 2;
  const uint64_t a = Word(s) * kB;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + n - 8) * factor;
  const uint64_t d = Word(s + n - 16) * kC;
  return Mix(Right(a + b, 43) + Right(c, 30) + d, a + Right(b + kC, 18) + c, factor);
}

uint64_t UpTo64(const char* s, uint64_t n) {
  const uint64_t factor = kC + n * 2;
  const uint64_t a = Word(s) * kC;
  const uint64_t b = Word(s + 8);
  const uint64_t c = Word(s + n - 8) * factor;
  const uint64_t d = Word(s + n - 16) * kC;
  const uint64_t y = Right(a + b, 43) + Right(c, 30) + d;
  const uint64_t z = Mix(y, a + Right(b + kC, 18) + c, factor);
  const uint64_t e = Word(s + 16) * factor;
  const uint64_t f = Word(s + 24);
  const uint64_t g = (y + Word(s + n - 32)) * factor;
  const uint64_t h = (z + Word(s + n - 24)) * factor;
  return Mix(Right(e + f, 43) + Right(g, 30) + h, e + Right(f + a, 18) + g, factor);
}

struct Pair {
  uint64_t first = 0;
  uint64_t second = 0;
};

Pair Mix32Bytes(const char* s, uint64_t a, uint64_t b) {
  a += Word(s);
  b = Right(b + a + Word(s + 24), 21);
  const uint64_t before = a;
  a += Word(s + 8) + Word(s + 16);
  b += Right(a, 44);
  return {a + Word(s + 24), b + before};
}

// What is carried from one block of 64 bytes to the next.
struct State {
  uint64_t x, y, z;
  Pair v, w;

  // The last block has another factor and weighs what it carries nine times.
  void Block(const char* s, uint64_t factor, uint64_t weight) {
    x = Right(x + y + v.first + Word(s + 8), 37) * factor;
    y = Right(y + v.second + Word(s + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + Word(s + 40);
    z = Right(z + w.first, 33) * factor;
    v = Mix32Bytes(s, v.second * factor, x + w.first);
    w = Mix32Bytes(s + 32, z + w.second, y + Word(s + 16));
    std::swap(z, x);
  }
};

}  // namespace

uint64_t Fingerprint64(std::string_view bytes) {
  const char* s = bytes.data();
  const uint64_t n = bytes.size();
  if (n <= 16) return UpTo16(s, n);
  if (n <= 32) return UpTo32(s, n);
  if (n <= 64) return UpTo64(s, n);
  const uint64_t y = kSeed * kB + 113;
  State state{kSeed * kC + Word(s), y, Fold(y * kC + 113) * kC, {}, {}};
  const uint64_t rest = (n - 1) % 64;
  const char* const last = s + n - 64;
  for (const char* const end = s + (n - 1 - rest); s != end; s += 64) state.Block(s, kB, 1);
  const uint64_t factor = kB + ((state.z & 0xff) << 1);
  state.w.first += rest;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.Block(last, factor, 9);
  return Mix(Mix(state.v.first, state.w.first, factor) + Fold(state.y) * kA + state.z,
             Mix(state.v.second, state.w.second, factor) + state.x, factor);
}

}  // namespace thalweg
