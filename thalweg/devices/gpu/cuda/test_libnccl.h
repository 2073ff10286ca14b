// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 of the tests: collective operations as NCCL's manual defines them, by loops, on
// the memory of the libcuda.so.1 of the tests, behind what stands in the streams. A stream waits
// there until all of its group have come, and until all have what they need, as a card does: in
// whatever order they are queued on different cards, in that order they wait for each other. What
// NCCL would refuse or hang of is an error: calls outside a group, a group without one of its
// ranks, tensors and streams of another card.
//
//   FakeNccl::Get().Fail("ncclGroupEnd", 2);                   // the next call of it
//   EXPECT_EQ(FakeNccl::Get().log().back(), "AllReduce 0 1");  // with the cards, by rank
//
// Ownership: the library's, as long as the process.
// Threads: any.
// Errors: none.
#pragma once

#include <string>
#include <vector>

#include "thalweg/devices/gpu/cuda/test_libcuda.h"

class FAKE_CUDA_EXPORT FakeNccl {
 public:
  static FakeNccl& Get();

  // The next call of a function gives this status.
  void Fail(const std::string& function, int status);
  // What every communicator says of its work from now on; 0: all is well.
  void SetAsyncError(int status);
  // Nothing fails, and nothing has been called.
  void Mend();
  // What was queued, and groups made ("Group 0 1").
  std::vector<std::string> log() const;
  // Communicators that have been neither destroyed nor aborted.
  int live() const;
  int aborts() const;
};
