// SPDX-License-Identifier: Apache-2.0
// ParallelFor: runs body(begin, end) over the shards of [0, n), on the caller and on threads of a
// queue that have time.
//
//   ParallelFor(queue, n, 4096, [&](int64_t begin, int64_t end) { ... });
//
// Shard s is [s * shard, min(n, (s + 1) * shard)): boundaries depend on the sizes alone, never on
// the number of threads, so that sums over shards have the same bits everywhere. Shards are claimed
// one by one with an atomic counter. The caller takes part and returns when all shards have run; it
// never waits for a thread to become free. The body must not throw. Nesting is fine. A null queue,
// or one shard, runs in the caller and allocates nothing.
// Ownership: the body is the caller's; no thread uses it after the call has returned.
// Threads: any, several loops at once; the body runs on several.
// Errors: none; a body keeps its own (base/first_error.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "thalweg/base/work_queue.h"

namespace thalweg {

namespace internal {
using ShardBody = void (*)(const void* context, int64_t begin, int64_t end);
void ParallelForShards(WorkQueue& queue, int64_t n, int64_t shard, ShardBody body,
                       const void* context);
}  // namespace internal

template <class Body>
void ParallelFor(WorkQueue* queue, int64_t n, int64_t shard, const Body& body) {
  if (n <= 0) return;
  shard = std::max<int64_t>(shard, 1);
  if (queue == nullptr || queue->Parallelism() == 0 || n <= shard) {
    // The same shards, so that a body may count on them.
    for (int64_t begin = 0; begin < n; begin += std::min(shard, n - begin)) {
      body(begin, begin + std::min(shard, n - begin));
    }
    return;
  }
  internal::ParallelForShards(
      *queue, n, shard,
      [](const void* context, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      &body);
}

}  // namespace thalweg
