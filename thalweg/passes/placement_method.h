// SPDX-License-Identifier: Apache-2.0
// PlacementMethod: how one of several devices that a group of nodes may be on is chosen.
//
//   ConstraintPlacer placer({.devices = devices, .method = PlacementMethod::kGreedy});
#pragma once

#include <cstdint>

namespace thalweg {

enum class PlacementMethod : uint8_t {
  // The first accelerator, or else the first.
  kPreferred,
  // The one where it would end soonest in a simulated step.
  kGreedy,
  // As kGreedy, improved by a search.
  kSearched,
};

}  // namespace thalweg
