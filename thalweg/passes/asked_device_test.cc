// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/asked_device.h"

#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"

namespace thalweg {
namespace {

TEST(AskedDeviceTest, ACpuOrNoKindAtAll) {
  Graph graph(std::make_shared<OpRegistry>());
  const GraphBuilder b(&graph);
  const auto may = [&](const char* device) {
    return MayBeOnCpu(*b.WithDevice(device).Const(Tensor::Scalar(1.0F)).node);
  };
  for (const char* device : {"", "/cpu:0", "/device:CPU:1", "/job:ps/task:3", "/device:CPU:*"}) {
    EXPECT_TRUE(may(device)) << device;
  }
  // A job may be called after what its machines have.
  EXPECT_TRUE(may("/job:gpu/task:0"));
  for (const char* device : {"/gpu:0", "/device:GPU:*", "/job:ps/device:TPU:0"}) {
    EXPECT_FALSE(may(device)) << device;
  }
}

}  // namespace
}  // namespace thalweg
