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
constexpr uint64_t kMixFactor = 0x9ddfea08eb382d69u;
uint64_t Mix(uint64_t u, uint64_t v, uint64_t factor = kMixFactor) {
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

// 128 bits of less than 128 bytes, from two words.
WideFingerprint WideUpTo127(const char* s, uint64_t n, uint64_t a, uint64_t b) {
  uint64_t c, d;
  if (n <= 16) {
    a = Fold(a * kB) * kB;
    c = b * kB + UpTo16(s, n);
    d = Fold(a + (n >= 8 ? Word(s) : c));
  } else {
    c = Mix(Word(s + n - 8) + kB, a);
    d = Mix(b + n, c + Word(s + n - 16));
    a += d;
    for (uint64_t at = 0; at + 16 < n; at += 16) {
      a = (a ^ (Fold(Word(s + at) * kB) * kB)) * kB;
      b ^= a;
      c = (c ^ (Fold(Word(s + at + 8) * kB) * kB)) * kB;
      d ^= c;
    }
  }
  a = Mix(a, c);
  b = Mix(d, b);
  return {a ^ b, Mix(b, a)};
}

WideFingerprint WideFrom128(const char* s, uint64_t n, uint64_t x, uint64_t y) {
  State state{x, y, n * kB, {}, {}};
  state.v.first = Right(y ^ kB, 49) * kB + Word(s);
  state.v.second = Right(state.v.first, 42) * kB + Word(s + 8);
  state.w.first = Right(y + state.z, 35) * kB + x;
  state.w.second = Right(x + Word(s + 88), 53) * kB;
  for (; n >= 128; n -= 128, s += 128) {
    state.Block(s, kB, 1);
    state.Block(s + 64, kB, 1);
  }
  auto& [x1, y1, z, v, w] = state;
  x1 += Right(v.first + z, 49) * kA;
  y1 = y1 * kA + Right(w.second, 37);
  z = z * kA + Right(w.first, 27);
  w.first *= 9;
  v.first *= kA;
  // Pieces of 32 bytes from the end; the last one reaches back into what was read.
  for (uint64_t done = 0; done < n;) {
    done += 32;
    const char* const piece = s + n - done;
    y1 = Right(x1 + y1, 42) * kA + v.second;
    w.first += Word(piece + 16);
    x1 = x1 * kA + w.first;
    z += w.second + Word(piece);
    w.second += v.first;
    v = Mix32Bytes(piece, v.first + z, v.second);
    v.first *= kA;
  }
  x1 = Mix(x1, v.first);
  y1 = Mix(y1 + z, w.first);
  return {Mix(x1 + v.second, w.second) + y1, Mix(x1 + w.second, y1 + v.second)};
}

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

WideFingerprint Fingerprint128(std::string_view bytes) {
  const char* s = bytes.data();
  const uint64_t n = bytes.size();
  if (n < 16) return WideUpTo127(s, n, kA, kB);
  const uint64_t x = Word(s), y = Word(s + 8) + kA;
  return n - 16 < 128 ? WideUpTo127(s + 16, n - 16, x, y) : WideFrom128(s + 16, n - 16, x, y);
}

}  // namespace thalweg
