// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level.
#include "thalweg/compute/ew/real_ops.inc"

namespace thalweg::compute::THALWEG_LEVEL {
constinit const EwKernels kEwFloatKernels = MakeRealTable<float>();
}  // namespace thalweg::compute::THALWEG_LEVEL
