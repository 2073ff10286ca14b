// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 of the tests: what a test binary is linked with, dlopen finds. It is one card
// without hardware, or up to three. Their memory is none of the host's: an address says where, and
// only copies and the launches of known kernels reach what is there. Streams are threads that work
// in order, so that what does not wait for another stream runs too early. What the driver would
// refuse, it does: calls without a context, copies beyond a block.
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

  // The next call of a function gives this error, or all calls from then on; the first so many
  // calls do not.
  void Fail(const std::string& function, int error, bool for_good = false, int but_first = 0);
  // From now on every call of a card that is queued or waits gives this error, as after a fault of
  // a kernel.
  void Break(int error, int card = 0);
  // The cards work again, nothing fails, there is one.
  void Mend();
  // The first stream that is made on a card, of launches, stands still or goes on.
  void Hold(bool held, int card = 0);
  // That stream has done all that it can without another one, or without being let go on.
  bool Settle(int card);
  // How many there are, from now on.
  void SetCards(int cards);

  // Buffers, host memory, streams, events, modules and contexts that have not been released.
  int live() const;
  int launches() const;
  int copies_between_cards() const;
  int ended_copies_between_cards() const;
  // Whether a card reads memory of another one without the host.
  bool reaches_other(int card) const;
  // Copies whose host memory was not the driver's own.
  int copies_of_pageable_memory() const;

  // The bytes of an address of the card, null beyond the end of its block.
  char* BytesAt(unsigned long long address, size_t size);
  // The card that it is of, by number; -1 for none.
  int CardOfAddress(unsigned long long address);
  int CardOfStream(void* stream);
  bool IsBroken(int card);
  // Behind all that stands in a stream. For a library beside this one.
  void Queue(void* stream, std::function<void()> work);
};
