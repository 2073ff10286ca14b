// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/work.h"

#include <cstdlib>

namespace thalweg::compute {

void SerialWork::ParallelFor(int64_t shards, ShardFn fn, void* context) {
  for (int64_t shard = 0; shard < shards; ++shard) fn(context, shard);
}

void* SerialWork::AllocateScratch(size_t bytes) {
  if (bytes > PTRDIFF_MAX - 64) return nullptr;
  return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}

void SerialWork::FreeScratch(void* pointer, size_t) { std::free(pointer); }

Status OutOfScratch() {
  return ResourceExhausted(
      "no memory for the scratch space of a kernel (raise the memory limit of the session, or use "
      "smaller tensors)");
}

}  // namespace thalweg::compute
