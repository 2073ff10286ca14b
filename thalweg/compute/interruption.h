// SPDX-License-Identifier: Apache-2.0
// Lets long work in other libraries' templates end before it is done: it looks where it calls back.
//
//   const Interruption interruption(work);   // for this thread, while it lives
//   result = kernels->svd(m, n, a, full, s, u, v);   // kCancelled once work.cancelled()
//
// Sorts look in their comparison (sort.h). Eigen has no hook of its own; some of its assertions,
// which it meets a few times for every row or column, are where it looks (linalg/eigen_config.h).
// Ownership: the Work outlives it; it lies on the stack, an inner one before the outer.
// Threads: an Interruption belongs to the thread that made it.
// Errors: throws Stop, which whoever calls the other library catches and makes kCancelled or
// Cancelled of.
#pragma once

#include <cstdint>
#include <limits>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

// One for all shared objects of a process: some of them are compiled with hidden symbols.
class [[gnu::visibility("default")]] Interruption {
 public:
  // What leaves the other library; who calls it catches it.
  struct Stop {};

  explicit Interruption(const Work& work) : outer_(watched_) { watched_ = {&work, kInterval}; }
  ~Interruption() { watched_ = outer_; }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Throws Stop when the work of this thread is cancelled; looks at it every kInterval calls.
  static void Look() {
    if (--watched_.left <= 0) LookAtFlag();
  }

 private:
  static constexpr int64_t kInterval = 32;
  struct Watched {
    const Work* work;
    int64_t left;
  };
  [[gnu::cold, gnu::noinline]] static void LookAtFlag();

  // The initial-exec model makes Look() two instructions, also in a library that is opened late.
  [[gnu::tls_model("initial-exec")]] static inline thread_local constinit Watched watched_{
      nullptr, std::numeric_limits<int64_t>::max()};
  const Watched outer_;
};

}  // namespace thalweg::compute
