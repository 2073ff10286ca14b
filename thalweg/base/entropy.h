// SPDX-License-Identifier: Apache-2.0
// RandomSeed(): 64 bits from the operating system, for a random operation whose graph sets no seed,
// and for names that must not collide. Everything else in the project is deterministic.
// Ownership: a value.
// Threads: any.
// Errors: none; where the system gives no bits, they come from its time, the process and an
// address.
#pragma once

#include <cstdint>

namespace thalweg {
uint64_t RandomSeed();
}  // namespace thalweg
