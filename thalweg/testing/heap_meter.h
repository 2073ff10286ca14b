// SPDX-License-Identifier: Apache-2.0
// HeapMeter: what the test program holds of malloc that no allocator counts.
//
//   HeapMeter::ForgetPeak();
//   const int64_t before = HeapMeter::Uncharged();
//   ...;  // strings, vectors, Eigen's temporaries
//   HeapMeter::Charge(1 << 20);  // an allocator counts so much of it from now on
//   EXPECT_LE(HeapMeter::Peak() - before, 1 << 16);
//
// heap_meter.cc stands for malloc itself where it is linked, except under sanitizers.
// Ownership: none, the process has one.
// Threads: any; blocks that a thread takes and frees while it holds an UnmeteredHeap do not count.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg {

class HeapMeter {
 public:
  static int64_t Uncharged();
  static void Charge(int64_t bytes);
  // The most that Uncharged was since ForgetPeak when a block was taken.
  static int64_t Peak();
  static void ForgetPeak();
  static void RaisePeak(int64_t to);
};

class UnmeteredHeap {
 public:
  UnmeteredHeap();
  UnmeteredHeap(const UnmeteredHeap&) = delete;
  UnmeteredHeap& operator=(const UnmeteredHeap&) = delete;
  ~UnmeteredHeap();
};

}  // namespace thalweg
