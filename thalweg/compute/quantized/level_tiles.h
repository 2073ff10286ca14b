// SPDX-License-Identifier: Apache-2.0
// Products of bytes by the processor's tiles (isa/tiles.h), 32 rows by 32 columns. Private to
// compute/quantized.
//
// a: unsigned bytes, in steps of 64: of each step 16 or 32 rows of 64 bytes. b: signed bytes, in
// steps of 64: of each 16 groups of four, of each group 32 columns of four bytes.
// Ownership: all memory is the caller's.
// Threads: any, each with its own TileSetting.
// Errors: none; only where HasTiles(TileKind::kBytes).
#pragma once

#include <cstdint>

namespace thalweg::compute::level_tiles {

constexpr int64_t kRows = 32, kColumns = 32, kDepth = 64;

// Rows that the packed form of so many has.
constexpr int64_t PackedRows(int64_t rows) { return (rows + 15) / 16 * 16; }

// Packs rows that are made of pieces of whole steps; piece p of row r lies at places[p * rows + r].
void PackPieces(int64_t pieces, int64_t steps, int64_t rows, const uint8_t* const* places,
                uint8_t* to);

// sums[i * 32 + j] = the sum over all steps of a's row i times b's column j; whole blocks of 16
// rows are written.
void Multiply(int64_t steps, int64_t rows, const uint8_t* a, const uint8_t* b, int32_t* sums);

}  // namespace thalweg::compute::level_tiles
