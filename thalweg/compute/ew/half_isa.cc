// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level. The same values as tensor/half.h, to the bit.
#include "thalweg/compute/ew/float_math.inc"
#include "thalweg/compute/ew/kernels.h"

namespace thalweg::compute {
namespace {

inline float FromBits(uint32_t bits) { return BitCast<float>(bits); }
inline uint32_t ToBits(float v) { return BitCast<uint32_t>(v); }

inline float HalfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  // Exponents move by 112; subnormals become right by one float subtraction, infinities and NaN by
  // 112 more.
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const uint32_t special = (magnitude << 13) + (224u << 23);
  const uint32_t subnormal = ToBits(FromBits(normal + (1u << 23)) - FromBits(113u << 23));
  const uint32_t bits = magnitude >= 0x7c00u ? special : magnitude < 0x400u ? subnormal : normal;
  return FromBits(bits | sign);
}

inline uint16_t FloatToHalf(float v) {
  const uint32_t u = ToBits(v);
  const uint32_t sign = (u >> 16) & 0x8000u;
  const uint32_t magnitude = u & 0x7fffffffu;
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
  const uint32_t subnormal = ToBits(FromBits(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const uint32_t bits = magnitude > 0x7f800000u ? nan : magnitude >= 0x477ff000u ? 0x7c00u : finite;
  return static_cast<uint16_t>(sign | bits);
}

// Selected among 32 bits, by the number: gcc makes less of other forms.
inline uint16_t FloatToBfloat16(float v) {
  const uint32_t u = ToBits(v);
  const uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
  const uint32_t nan = u | 0x400000u;
  return static_cast<uint16_t>((v != v ? nan : rounded) >> 16);
}

void HalvesToFloats(float* out, const uint16_t* in, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    __m128i h;
    __builtin_memcpy(&h, in + i, sizeof h);
    const __m256 f = _mm256_cvtph_ps(h);
    __builtin_memcpy(out + i, &f, sizeof f);
  }
#endif
  for (; i < n; ++i) out[i] = HalfToFloat(in[i]);
}

void FloatsToHalves(uint16_t* out, const float* in, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    __m256 f;
    __builtin_memcpy(&f, in + i, sizeof f);
    const __m128i h = _mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT);
    __builtin_memcpy(out + i, &h, sizeof h);
  }
#endif
  for (; i < n; ++i) out[i] = FloatToHalf(in[i]);
}

void Bfloat16sToFloats(float* out, const uint16_t* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = FromBits(static_cast<uint32_t>(in[i]) << 16);
}

void FloatsToBfloat16s(uint16_t* out, const float* in, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  const auto high = [&](const float* from) {
    const Vec<float> v = Load(from);
    const Vec<uint32_t> u = (Vec<uint32_t>)v;
    return (__m512i)((v != v ? u | 0x400000 : u + 0x7fff + ((u >> 16) & 1)) >> 16);
  };
  const Vec<int64_t> order = {0, 2, 4, 6, 1, 3, 5, 7};  // packing takes turns
  for (; i + 32 <= n; i += 32) {
    const __m512i packed = _mm512_packus_epi32(high(in + i), high(in + i + 16));
    const __m512i halves = _mm512_maskz_permutexvar_epi64(-1, (__m512i)order, packed);
    __builtin_memcpy(out + i, &halves, sizeof halves);
  }
#endif
  for (; i < n; ++i) out[i] = FloatToBfloat16(in[i]);
}

}  // namespace

namespace THALWEG_LEVEL {
constinit const HalfKernels kHalfKernels = {HalvesToFloats, FloatsToHalves, Bfloat16sToFloats,
                                            FloatsToBfloat16s};
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
