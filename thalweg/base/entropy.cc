// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/entropy.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "thalweg/base/philox.h"

namespace thalweg {

uint64_t RandomSeed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), 0) == static_cast<ssize_t>(sizeof(seed))) return seed;
  // No entropy call (an old kernel, a seccomp filter): time, process and address are distinct
  // enough.
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  Philox mix(static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec),
             (static_cast<uint64_t>(getpid()) << 32) ^ reinterpret_cast<uintptr_t>(&now));
  const Philox::Block block = mix.Next();
  return block[0] | (static_cast<uint64_t>(block[1]) << 32);
}

}  // namespace thalweg
