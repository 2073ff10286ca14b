// SPDX-License-Identifier: Apache-2.0
// Roof: what the machine reaches with the library's own code: products of matrices, copies of
// memory, messages over the loopback; and what other programs took meanwhile.
//
//   ASSIGN_OR_RETURN(const Roof roof, MeasureRoof(UsableProcessors()));
//
// Ownership: values.
// Threads: starts as many as it is told, and joins them.
// Errors: ResourceExhausted where memory or threads are refused.
#pragma once

#include <string>

#include "thalweg/base/status.h"

namespace thalweg {

struct Roof {
  int threads = 0;
  double product_one = 0, product_all = 0;  // float32, operations a second: one thread, all
  double copy_one = 0, copy_all = 0;        // bytes read and written a second, past the caches
  double loopback = 0;      // seconds for one byte there and back, between two threads
  std::string no_loopback;  // why there is none; "": there is
  double foreign = 0;       // processors that other programs kept busy, on the average
  double stolen = 0;        // processors that the host of this virtual machine gave to others
};

// Takes some two seconds, and 128 MB a thread where a quarter of the memory is as much.
Result<Roof> MeasureRoof(int threads);

// Of all threads together, as product_all and copy_all.
struct QuickRoof {
  double product = 0, copy = 0;
};
// Takes some 30 ms and 33 MB a thread: less true than MeasureRoof, for who waits for it.
Result<QuickRoof> MeasureRoofQuickly(int threads);

}  // namespace thalweg
