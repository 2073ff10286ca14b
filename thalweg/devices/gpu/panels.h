// SPDX-License-Identifier: Apache-2.0
// Products on processors: a work item sums tiles of six rows and sixteen columns in registers,
// taking factors of the columns from a panel that it has packed, 256 steps of the inner dimension
// at a time. Groups of one item: a driver for processors runs each as a loop on a thread.
//
//   const PanelGrid grid = PanelGrid::Of({.rows = m, .columns = n}, device.traits().units);
//   launch.Value(grid.rows);
//   RETURN_IF_ERROR(queue.Run(launch, grid.items, kPanelGroup));
//
// Ownership: values.
// Threads: any.
// Errors: none.
#pragma once

#include <cstdint>

#include "thalweg/devices/gpu/gpu_queue.h"

namespace thalweg {

// In front of the sources that use it: ROWS, WIDE, DEPTH, the sums of a tile, their end in memory.
extern const char* const kPanelsSource;

inline constexpr WorkSize kPanelGroup = {1, 1, 1};

struct ProductSize {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t count = 1;  // of products side by side
};

// The items of a product: panels, blocks of `rows` rows, products.
struct PanelGrid {
  WorkSize items{};
  uint32_t rows = 0;

  // Items of a unit, so that a unit that is late holds the others up little.
  static constexpr int64_t kItemsOfAUnit = 4;

  // Enough items for so many units, and no more: each packs the panels of its columns anew.
  static PanelGrid Of(const ProductSize& size, int64_t units);
};

}  // namespace thalweg
