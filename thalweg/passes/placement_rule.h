// SPDX-License-Identifier: Apache-2.0
// PlacementRule: what becomes of a node whose constraint no device here can meet.
//
//   ConstraintPlacer placer({.devices = devices, .rule = PlacementRule::kStrict});
#pragma once

#include <cstdint>

namespace thalweg {

enum class PlacementRule : uint8_t {
  // InvalidArgument that names the node, its line and the devices there are.
  kStrict,
  // As kStrict, but that a kind of accelerator of which there is none here (GPU, TPU) means the
  // CPU: programs that were written beside one run without it, with one warning.
  kAcceleratorsToCpu,
  // Any device of the job and task that are asked for, with one line in the log at INFO.
  kSoft,
};

}  // namespace thalweg
