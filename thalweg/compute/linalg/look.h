// SPDX-License-Identifier: Apache-2.0
// How a decomposition ends early: within libthalweg_linalg.so, what Eigen calls a few times for
// every row or column looks at the cancel flag now and then. Private to compute/linalg.
//
//   Looks::Begin();   // every kernel
//   Looks::Look();    // throws Looks::Stop when the work of this thread is cancelled
//
// Ownership: `cancelled` is the library's, which outlives the component.
// Threads: any.
// Errors: throws Stop, which Guarded catches.
#pragma once

#include <cstdint>

#include "thalweg/compute/linalg/linalg_api.h"

namespace thalweg::compute {

class Looks {
 public:
  struct Stop {};

  static void Begin() { left_ = kInterval; }
  static void Look() {
    if (--left_ <= 0) LookAtFlag();
  }

  static inline LinalgCancelled cancelled = nullptr;  // the library's; set when it opens this

 private:
  static constexpr int kInterval = 32;
  [[gnu::cold, gnu::noinline]] static void LookAtFlag() {
    left_ = kInterval;
    if (cancelled()) throw Stop();
  }

  // The initial-exec model makes Look() two instructions, also in a library that is opened late.
  [[gnu::tls_model("initial-exec")]] static inline thread_local constinit int left_ = kInterval;
};

}  // namespace thalweg::compute
