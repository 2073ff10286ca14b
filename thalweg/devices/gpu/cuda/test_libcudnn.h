// SPDX-License-Identifier: Apache-2.0
// A libcudnn.so.9 of the tests: convolutions as cuDNN's manual defines them, by loops, on the
// memory of the libcuda.so.1 of the tests, behind what stands in the stream. What cuDNN would
// refuse, it does: sizes that do not fit, a small workspace. It also wants what the device
// promises: no algorithm that gives other bits at every call, no products of fewer bits.
//
//   FakeCudnn::Get().Fail("cudnnConvolutionForward", 5000);     // the next call of it
//   EXPECT_EQ(FakeCudnn::Get().calls("cudnnConvolutionForward"), 2);
//
// Ownership: the library's, as long as the process.
// Threads: any.
// Errors: none.
#pragma once

#include <cstddef>
#include <string>

#include "thalweg/devices/gpu/cuda/test_libcuda.h"

class FAKE_CUDA_EXPORT FakeCudnn {
 public:
  // Algorithms that it names in this order, behind others that must not be used.
  static constexpr int kFastest = 6, kSmaller = 1, kWithoutWorkspace = 2;
  static constexpr size_t kWorkspaceOfFastest = size_t{12} << 20, kWorkspaceOfSmaller = 4096;

  static FakeCudnn& Get();

  // The next call of a function gives this status, or all calls from then on.
  void Fail(const std::string& function, int status, bool for_good = false);
  // Nothing fails, and nothing has been called.
  void Mend();
  int calls(const std::string& function) const;
  // Of the last convolution, -1 before.
  int last_algorithm() const;
  // Handles and descriptors that have not been destroyed.
  int live() const;
};
