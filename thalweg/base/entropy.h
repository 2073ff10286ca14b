// SPDX-License-Identifier: Apache-2.0
// RandomSeed(): 64 bits from the operating system, for a random operation whose graph sets no seed,
// and for names that must not collide. Everything else in the project is deterministic. Any thread.
#pragma once

#include <cstdint>

namespace thalweg {
uint64_t RandomSeed();
}  // namespace thalweg
