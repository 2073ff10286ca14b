// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/philox_fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGroupsPerShard = 4096;
// Logarithms of numbers below this are not taken.
constexpr float kSmallest = 1.0e-7f;
constexpr float kTruncateAt = 2.0f;
// Blocks that belong to each number of a truncated normal, so that a rejected one moves no other.
constexpr uint64_t kBlocksPerNumber = 256 / 4;

// Two normal numbers from two uniform ones (Box and Muller).
void NormalPair(uint32_t a, uint32_t b, float* first, float* second) {
  const float radius = std::sqrt(-2.0f * std::log(std::max(UniformFloat(a), kSmallest)));
  // The product is formed in double, then rounded.
  const auto angle = static_cast<float>(2.0 * std::numbers::pi * UniformFloat(b));
  *first = std::sin(angle) * radius;
  *second = std::cos(angle) * radius;
}

void NormalPair(const uint32_t* bits, double* first, double* second) {
  const double uniform = std::max(UniformDouble(bits[0], bits[1]), 1.0e-7);
  const double radius = std::sqrt(-2.0 * std::log(uniform));
  const double angle = 2.0 * std::numbers::pi * UniformDouble(bits[2], bits[3]);
  *first = std::sin(angle) * radius;
  *second = std::cos(angle) * radius;
}

// Numbers of a type that one group holds.
template <class T>
constexpr int kGroup = sizeof(T) == 8 ? 2 : 4;

template <class T>
void UniformGroup(const Philox::Block& block, T* out) {
  for (int i = 0; i < kGroup<T>; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      out[i] = UniformDouble(block[2 * i], block[2 * i + 1]);
    } else if constexpr (std::is_same_v<T, float>) {
      out[i] = UniformFloat(block[i]);
    } else if constexpr (std::is_same_v<T, Half>) {  // 1.m - 1, exact
      out[i] = Half(static_cast<float>(
                        Half::FromBits(static_cast<uint16_t>((15u << 10) | (block[i] & 0x3ffu)))) -
                    1.0f);
    } else {
      out[i] = Bfloat16(static_cast<float>(Bfloat16::FromBits(
                            static_cast<uint16_t>((127u << 7) | (block[i] & 0x7fu)))) -
                        1.0f);
    }
  }
}

template <class T>
void NormalGroup(const Philox::Block& block, T* out) {
  if constexpr (std::is_same_v<T, double>) {
    NormalPair(block.data(), &out[0], &out[1]);
  } else {
    for (int i = 0; i < 4; i += 2) {
      float first, second;
      NormalPair(block[i], block[i + 1], &first, &second);
      out[i] = static_cast<T>(first);
      out[i + 1] = static_cast<T>(second);
    }
  }
}

template <class T>
void TruncatedGroup(PhiloxNumbers numbers, T* out) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (int i = 0; i < kGroup<T>;) {
    W pair[2];
    if constexpr (std::is_same_v<T, double>) {
      uint32_t bits[4];
      for (uint32_t& b : bits) b = numbers.Next();
      NormalPair(bits, &pair[0], &pair[1]);
    } else {
      const uint32_t a = numbers.Next();
      NormalPair(a, numbers.Next(), &pair[0], &pair[1]);
    }
    for (const W value : pair) {
      if (std::abs(value) < W{kTruncateAt} && i < kGroup<T>) out[i++] = static_cast<T>(value);
    }
  }
}

template <class T>
T Bits(const Philox::Block& block, int i) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(block[2 * i] | (static_cast<uint64_t>(block[2 * i + 1]) << 32));
  } else {
    return static_cast<T>(block[i]);
  }
}

// group(index, T out[kGroup<T>]) for every group; the last one may be cut off.
template <class T, class Group>
Status FillGroups(Work& work, void* out, int64_t n, const Group& group) {
  constexpr int64_t kSize = kGroup<T>;
  T* const values = static_cast<T*>(out);
  const int64_t groups = n / kSize + (n % kSize != 0 ? 1 : 0);
  return ForBlocks(work, groups, kGroupsPerShard, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      if ((g + 1) * kSize <= n) {
        group(g, values + g * kSize);
      } else {
        T last[kSize];
        group(g, last);
        std::copy_n(last, n - g * kSize, values + g * kSize);
      }
    }
  });
}

Philox SkippedBy(Philox stream, uint64_t blocks) {
  stream.Skip(blocks);
  return stream;
}

constexpr const char* kWhat = "a tensor of random numbers";

// Four-block loops: group g from block g.
template <class T, class Group>
Status FillFromBlocks(Work& work, const Philox& stream, void* out, int64_t n, const Group& group) {
  return FillGroups<T>(work, out, n, [&](int64_t g, T* values) {
    group(SkippedBy(stream, static_cast<uint64_t>(g)).Next(), values);
  });
}

}  // namespace

float UniformFloat(uint32_t bits) {
  return std::bit_cast<float>((127u << 23) | (bits & 0x7fffffu)) - 1.0f;
}

double UniformDouble(uint32_t high, uint32_t low) {
  const uint64_t mantissa = (static_cast<uint64_t>(high & 0xfffffu) << 32) | low;
  return std::bit_cast<double>((uint64_t{1023} << 52) | mantissa) - 1.0;
}

Status FillUniform(Work& work, DType dtype, const Philox& stream, void* out, int64_t n) {
  return WithType<FloatTypes>(dtype, kWhat, [&]<class T>() {
    return FillFromBlocks<T>(work, stream, out, n, UniformGroup<T>);
  });
}

Status FillNormal(Work& work, DType dtype, const Philox& stream, void* out, int64_t n) {
  return WithType<FloatTypes>(dtype, kWhat, [&]<class T>() {
    return FillFromBlocks<T>(work, stream, out, n, NormalGroup<T>);
  });
}

Status FillTruncatedNormal(Work& work, DType dtype, const Philox& stream, void* out, int64_t n) {
  return WithType<FloatTypes>(dtype, kWhat, [&]<class T>() {
    return FillGroups<T>(work, out, n, [&](int64_t g, T* values) {
      const uint64_t first = static_cast<uint64_t>(g) * kGroup<T> * kBlocksPerNumber;
      TruncatedGroup(PhiloxNumbers(SkippedBy(stream, first)), values);
    });
  });
}

Status FillUniformInt(Work& work, DType dtype, const Philox& stream, int64_t low, int64_t high,
                      void* out, int64_t n) {
  return WithType<Types<int32_t, int64_t>>(dtype, kWhat, [&]<class T>() {
    using U = std::make_unsigned_t<T>;
    const U range = static_cast<U>(static_cast<U>(high) - static_cast<U>(low));
    return FillFromBlocks<T>(work, stream, out, n, [&](const Philox::Block& block, T* values) {
      for (int i = 0; i < kGroup<T>; ++i) {
        values[i] = static_cast<T>(static_cast<U>(low) + Bits<U>(block, i) % range);
      }
    });
  });
}

Status FillBits(Work& work, DType dtype, const Philox& stream, void* out, int64_t n) {
  return WithType<Types<int32_t, int64_t, uint32_t, uint64_t>>(dtype, kWhat, [&]<class T>() {
    return FillFromBlocks<T>(work, stream, out, n, [&](const Philox::Block& block, T* values) {
      for (int i = 0; i < kGroup<T>; ++i) values[i] = Bits<T>(block, i);
    });
  });
}

}  // namespace thalweg::compute
