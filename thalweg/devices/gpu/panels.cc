// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/panels.h"

#include <algorithm>

namespace thalweg {
namespace {

constexpr int64_t kRows = 6;  // of a tile, as the source has it
constexpr int64_t kColumns = 16;
// Rows of an item: as many as pay for packing a panel, and as stay in a cache with it.
constexpr int64_t kLeastRows = 4 * kRows;
constexpr int64_t kMostRows = 64 * kRows;

constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

// Rows are named by numbers, not by an index: compilers keep what is named so in registers.
const char* const kPanelsSource = R"(
#define ROWS 6
#define WIDE 16
#define DEPTH 256
typedef float16 Wide;

#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define NAME_SUM(i) Wide sum##i = 0.0f;
#define NAME_ROW(i) __global const float* const row##i = from[i];
#define GIVE_SUM(i) sums[i] = sum##i;
#define ADD_ROW(i) sum##i = fma((Wide)(FACTOR(i)), y, sum##i);
// Adds FACTOR(i) at each step p, of row i, times the panel's at p.
#define ADD_PRODUCTS(panel, depth)     \
  for (uint p = 0; p < (depth); ++p) { \
    const Wide y = vload16(p, panel);  \
    EACH_ROW(ADD_ROW)                  \
  }

// Sums to to[i], their elements `step` apart: so many rows, `wide` columns.
void store_sums(const Wide* sums, __global float* const* to, ulong step, uint rows, uint wide, int adds) {
  for (uint i = 0; i < rows; ++i) {
    if (wide == WIDE && step == 1) {
      vstore16(adds ? vload16(0, to[i]) + sums[i] : sums[i], 0, to[i]);
      continue;
    }
    float row[WIDE];
    vstore16(sums[i], 0, row);
    for (uint j = 0; j < wide; ++j) to[i][j * step] = adds ? to[i][j * step] + row[j] : row[j];
  }
}

// Elements `down` apart from step to step, `across` from column to column; columns that are not
// there are zero.
void pack_panel(float* panel, __global const float* b, ulong down, ulong across, uint depth, uint wide) {
  if (wide == WIDE && across == 1) {
    for (uint p = 0; p < depth; ++p) vstore16(vload16(0, b + p * down), p, panel);
    return;
  }
  for (uint j = 0; j < WIDE; ++j)
    for (uint p = 0; p < depth; ++p) panel[p * WIDE + j] = j < wide ? b[p * down + j * across] : 0.0f;
}
)";

PanelGrid PanelGrid::Of(const ProductSize& size, int64_t units) {
  const int64_t panels = DivideUp(size.columns, kColumns);
  const int64_t side_by_side = std::max<int64_t>(panels * size.count, 1);
  const int64_t blocks = DivideUp(kItemsOfAUnit * std::max<int64_t>(units, 1), side_by_side);
  const int64_t rows = std::clamp(DivideUp(size.rows, blocks), kLeastRows, kMostRows);
  PanelGrid grid;
  grid.rows = static_cast<uint32_t>(DivideUp(rows, kRows) * kRows);
  grid.items = {static_cast<size_t>(panels), static_cast<size_t>(DivideUp(size.rows, grid.rows)),
                static_cast<size_t>(size.count)};
  return grid;
}

}  // namespace thalweg
