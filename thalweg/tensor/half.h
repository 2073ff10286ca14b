// SPDX-License-Identifier: Apache-2.0
// Half (IEEE binary16) and Bfloat16 (the upper half of a float): storage types. Arithmetic is done
// in float. Conversion from float rounds to nearest, ties to even; NaN stays NaN.
// Ownership: values.
// Threads: any; no state.
// Errors: none; what is too large becomes infinity.
#pragma once

#include <bit>
#include <cstdint>

namespace thalweg {

uint16_t FloatToHalfBits(float value);
float HalfBitsToFloat(uint16_t bits);

struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(FloatToHalfBits(value)) {}
  static Half FromBits(uint16_t b) {
    Half h;
    h.bits = b;
    return h;
  }
  explicit operator float() const { return HalfBitsToFloat(bits); }
};

struct Bfloat16 {
  uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((u >> 16) | 0x0040u);  // quiet NaN
    } else {
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
  }
  static Bfloat16 FromBits(uint16_t b) {
    Bfloat16 h;
    h.bits = b;
    return h;
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace thalweg
