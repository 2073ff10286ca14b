// SPDX-License-Identifier: Apache-2.0
// The units for products of bfloat16 that tests can run here: those of the processor, whichever it
// has; none in a build capped below it.
#pragma once

#include <vector>

#include "thalweg/compute/gemm/bfloat16_blocks.h"

namespace thalweg::compute {

inline std::vector<Bfloat16Unit> TestBfloat16Units() {
  std::vector<Bfloat16Unit> units;
  const Bfloat16Unit best = Bfloat16UnitOf(GetIsaTable(BestIsaLevel()));
  for (Bfloat16Unit unit : {Bfloat16Unit::kPairs, Bfloat16Unit::kTiles}) {
    if (unit <= best) units.push_back(unit);
  }
  return units;
}

}  // namespace thalweg::compute
