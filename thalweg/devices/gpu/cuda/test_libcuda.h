// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 of the tests: what a test binary is linked with, dlopen finds. It is one card
// without hardware. Its memory is none of the host's: an address says where, and only copies and
// the launches of known kernels reach what is there. Streams are threads that work in order, so
// that what does not wait for another stream runs too early. What the driver would refuse, it does:
// calls without a context, copies beyond a block.
//
//   FakeCuda::Get().Fail("cuMemAlloc_v2", 2);     // the next call of it
//   FakeCuda::Get().Hold(true);                   // launches and what waits for them stand still
//
// Ownership: the library's, as long as the process.
// Threads: any.
// Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#define FAKE_CUDA_EXPORT __attribute__((visibility("default")))

class FAKE_CUDA_EXPORT FakeCuda {
 public:
  static FakeCuda& Get();

  // The next call of a function gives this error, or all calls from then on.
  void Fail(const std::string& function, int error, bool for_good = false);
  // From now on every call that is queued or waits gives this error, as after a fault of a kernel.
  void Break(int error);
  // The card works again, nothing fails.
  void Mend();
  // The first stream that is made, of launches, stands still or goes on.
  void Hold(bool held);

  // Buffers, host memory, streams, events, modules and contexts that have not been released.
  int live() const;
  int launches() const;
  // Copies whose host memory was not the driver's own.
  int copies_of_pageable_memory() const;

  // The bytes of an address of the card, null beyond the end of its block.
  char* BytesAt(unsigned long long address, size_t size);
  // Behind all that stands in a stream. For a library beside this one.
  void Queue(void* stream, std::function<void()> work);
};
