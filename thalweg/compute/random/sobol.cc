// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/random/sobol.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace thalweg::compute {
namespace {

constexpr int kBits = 31;  // of the number of a point
constexpr int kMaxDegree = 10;

// The degree is how many numbers there are.
struct Direction {
  uint16_t inner;
  uint16_t first[kMaxDegree];
};
constexpr Direction kDirections[] = {
#include "thalweg/compute/random/sobol_numbers.inc"
};
static_assert(std::size(kDirections) + 1 == kMaxSobolDims);

// directions[bit * dims + d]: what bit `bit` of a Gray code adds to coordinate d.
void MakeDirections(int64_t dims, uint32_t* directions) {
  for (int bit = 0; bit < kBits; ++bit) directions[bit * dims] = 1u << (31 - bit);
  for (int64_t d = 1; d < dims; ++d) {
    const Direction& of = kDirections[d - 1];
    int degree = 0;
    while (degree < kMaxDegree && of.first[degree] != 0) ++degree;
    const auto at = [&](int bit) -> uint32_t& { return directions[bit * dims + d]; };
    for (int bit = 0; bit < degree; ++bit) at(bit) = uint32_t{of.first[bit]} << (31 - bit);
    for (int bit = degree; bit < kBits; ++bit) {
      uint32_t sum = at(bit - degree) ^ (at(bit - degree) >> degree);
      for (int i = 1; i < degree; ++i) {
        if ((of.inner >> (degree - 1 - i) & 1) != 0) sum ^= at(bit - i);
      }
      at(bit) = sum;
    }
  }
}

template <class T>
Status Points(Work& work, const SobolShape& s, T* out) {
  Scratch<uint32_t> directions(work, kBits * s.dims);
  if (!directions) return OutOfScratch();
  MakeDirections(s.dims, directions.get());
  const int64_t grain = std::max<int64_t>(1, 16384 / s.dims);
  return ForBlocks(work, s.count, grain, [&](int64_t begin, int64_t end) {
    uint32_t point[kMaxSobolDims] = {};
    const auto add = [&](int bit) {
      for (int64_t d = 0; d < s.dims; ++d) point[d] ^= directions[bit * s.dims + d];
    };
    const auto before = static_cast<uint32_t>(s.skip + begin);
    for (uint32_t code = before ^ (before >> 1); code != 0; code &= code - 1) {
      add(std::countr_zero(code));
    }
    for (int64_t i = begin; i < end; ++i) {
      add(std::countr_zero(static_cast<uint32_t>(s.skip + i + 1)));  // the next code differs there
      for (int64_t d = 0; d < s.dims; ++d) {
        out[i * s.dims + d] = static_cast<T>(point[d]) * static_cast<T>(0x1p-32);
      }
    }
  });
}

}  // namespace

Status SobolPoints(Work& work, DType dtype, const SobolShape& shape, void* out) {
  if (dtype == DType::kFloat) return Points(work, shape, static_cast<float*>(out));
  if (dtype == DType::kDouble) return Points(work, shape, static_cast<double*>(out));
  return Unimplemented("points of a Sobol sequence of ", dtype);
}

}  // namespace thalweg::compute
