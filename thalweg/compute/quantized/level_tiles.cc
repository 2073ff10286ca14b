// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/quantized/level_tiles.h"

#include <immintrin.h>

#include <cstring>

#define THALWEG_TILES gnu::target("amx-tile,amx-int8")

namespace thalweg::compute::level_tiles {
namespace {

constexpr int64_t kBlock = 16 * kDepth;          // bytes of 16 rows of a
constexpr int64_t kStepOfB = 16 * kColumns * 4;  // bytes
constexpr int64_t kRowOfB = kColumns * 4;        // of a tile: a group of four
constexpr int64_t kRowOfSums = kColumns * sizeof(int32_t);

template <int A>
[[THALWEG_TILES, gnu::noinline]] void Sum(int64_t steps, const uint8_t* a, const uint8_t* b,
                                          int32_t* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t s = 0; s < steps; ++s, a += A * kBlock, b += kStepOfB) {
    _tile_loadd(4, a, kDepth);
    _tile_loadd(6, b, kRowOfB);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(7, b + kRowOfB / 2, kRowOfB);
    _tile_dpbusd(1, 4, 7);
    if constexpr (A == 2) {
      _tile_loadd(5, a + kBlock, kDepth);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kRowOfSums);
  _tile_stored(1, sums + 16, kRowOfSums);
  if constexpr (A == 2) {
    _tile_stored(2, sums + 16 * kColumns, kRowOfSums);
    _tile_stored(3, sums + 16 * kColumns + 16, kRowOfSums);
  }
}

}  // namespace

void PackPieces(int64_t pieces, int64_t steps, int64_t rows, const uint8_t* const* places,
                uint8_t* to) {
  const int64_t step_bytes = PackedRows(rows) * kDepth;
  for (int64_t p = 0; p < pieces; ++p, places += rows, to += steps * step_bytes) {
    for (int64_t s = 0; s < steps; ++s) {
      uint8_t* lane = to + s * step_bytes;
      for (int64_t r = 0; r < rows; ++r, lane += kDepth) {
        std::memcpy(lane, places[r] + s * kDepth, kDepth);
      }
    }
  }
}

void Multiply(int64_t steps, int64_t rows, const uint8_t* a, const uint8_t* b, int32_t* sums) {
  (rows > 16 ? Sum<2> : Sum<1>)(steps, a, b, sums);
}

}  // namespace thalweg::compute::level_tiles
