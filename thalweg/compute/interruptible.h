// SPDX-License-Identifier: Apache-2.0
// Lets functions that know nothing of steps end early: a text of many megabytes, an image of many
// windows. They call Interruption::Look() in their loops, which costs two instructions; outside of
// what stands here it does nothing.
//
//   RETURN_IF_ERROR(Interruptibly(work, [&] { text = EncodeBase64(bytes, true); }));
//   RETURN_IF_ERROR(ForLookingShards(work, 10, [&](int64_t shard) { ...; return true; }));
//
// Ownership: keeps nothing.
// Threads: those of the Work.
// Errors: Cancelled once the work is; what was made is of no use then.
#pragma once

#include <type_traits>

#include "thalweg/compute/interruption.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {

// f() may return a Status.
template <class F>
Status Interruptibly(const Work& work, const F& f) {
  const Interruption interruption(work);
  try {
    if constexpr (std::is_same_v<decltype(f()), Status>) {
      return f();
    } else {
      f();
    }
  } catch (const Interruption::Stop&) {
    return CancelledStep();
  }
  return OkStatus();
}

// ForShards whose body looks.
template <class Body>
Status ForLookingShards(Work& work, int64_t shards, const Body& body) {
  return ForShards(work, shards, [&](int64_t shard) {
    bool has_scratch = true;
    // ForShards says that the work was cancelled.
    Interruptibly(work, [&] { has_scratch = body(shard); }).IgnoreError();
    return has_scratch;
  });
}

// ForBlocks whose body looks.
template <class Body>
Status ForLookingBlocks(Work& work, int64_t n, int64_t grain, const Body& body) {
  return ForBlocks(work, n, grain, [&](int64_t begin, int64_t end) {
    // ForBlocks says that the work was cancelled.
    Interruptibly(work, [&] { body(begin, end); }).IgnoreError();
  });
}

// Looks at some of the places of a loop over bytes.
inline void LookAtBlocks(size_t at) {
  constexpr size_t kBlock = 1 << 10;
  if (at % kBlock == 0) Interruption::Look();
}

}  // namespace thalweg::compute
