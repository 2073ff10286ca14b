// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(mutex_lock) {
  constexpr std::string_view kWhy = "a lock is no number";
  registry.Op("MutexV2")
      .Shape(ScalarShape)
      .NotDifferentiable(kWhy)
      .Doc("A lock that one step at a time holds.");
  registry.Op("MutexLock")
      .Shape(ScalarShape)
      .NotDifferentiable(kWhy)
      .Doc("Waits for a lock; it is held as long as the output, or a copy of it, is there.");
  registry.Op("ConsumeMutexLock")
      .Shape(NoOutputs)
      .NotDifferentiable(kWhy)
      .Doc("Reads a held lock, so that it is held at least until then.");
}
