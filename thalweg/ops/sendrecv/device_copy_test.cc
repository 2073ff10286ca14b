// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/peer_copies.h"
#include "thalweg/kernel/test_device.h"
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

// Copies in its own words; the host has one memory.
class PeerDevice : public NamedDevice, public PeerCopies {
 public:
  PeerDevice() : NamedDevice("/job:a/replica:0/task:0/device:CPU:1") {}
  bool Reaches(const Device&) const override { return true; }
  Result<Tensor> CopyFromPeer(const Tensor& tensor) override {
    return tensor.num_elements() > 2 ? Result<Tensor>(ResourceExhausted("no room"))
                                     : Result<Tensor>(Tensor::Vector<float>({7, 8}));
  }
};

TEST(DeviceCopyTest, WhatAPeerGivesIsTheOutput) {
  PeerDevice device;
  KernelCall call("_CopyFromPeer", {Tensor::Vector<float>({1, 2})});
  call.step().device = &device;
  ASSERT_TRUE(call.Run().ok());
  EXPECT_THAT(call.output(0).flat<float>(), testing::ElementsAre(7, 8));
  KernelCall large("_CopyFromPeer", {Tensor::Vector<float>({1, 2, 3})});
  large.step().device = &device;
  EXPECT_EQ(large.Run().code(), Code::kResourceExhausted);
  EXPECT_EQ(KernelCall("_CopyFromPeer", {Tensor::Vector<float>({1})}).Run().code(),
            Code::kInternal);
}

}  // namespace
}  // namespace thalweg
