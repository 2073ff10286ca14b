// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/inproc/inproc_channel.h"

#include "thalweg/cluster/transport/conformance/test_transport.h"

namespace thalweg {
namespace {

INSTANTIATE_TEST_SUITE_P(Inproc, ChannelConformance,
                         testing::Values(TransportCase{.name = "pair",
                                                       .connect = []() -> Result<ChannelPair> {
                                                         return MakeInprocChannels();
                                                       },
                                                       .separate_bulk = false,
                                                       .calls_on_head = false}),
                         TransportName);

TEST(InprocChannel, HandsOverTheSendersBuffer) {
  auto [a, b] = MakeInprocChannels();
  const Tensor t = Tensor::Vector<float>({1, 2, 3});
  a->Push({.dtype = DType::kFloat, .shape = Shape{3}}, t);
  Collector sink;
  EXPECT_FALSE(b->Poll(sink, 8));
  ASSERT_EQ(sink.arrivals.size(), 1u);
  EXPECT_TRUE(sink.arrivals[0].tensor.SharesBufferWith(t));
}

}  // namespace
}  // namespace thalweg
