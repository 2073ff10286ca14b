// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

TEST(DeviceCopyTest, TheCpusCopiesShareTheBuffer) {
  for (const char* op : {"_CopyToHost", "_CopyFromHost"}) {
    const Tensor x = Tensor::Vector<float>({1, 2});
    KernelCall call(op, {x});
    ASSERT_TRUE(call.Run().ok()) << op;
    EXPECT_TRUE(call.output(0).SharesBufferWith(x)) << op;
  }
}

}  // namespace
}  // namespace thalweg
