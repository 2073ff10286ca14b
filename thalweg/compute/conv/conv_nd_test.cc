// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv_nd.h"

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/compute/conv/test_conv.h"

namespace thalweg::compute {
namespace {

struct Volume {
  int64_t batch, planes, size, in, out, filter, stride, dilation;
  Padding padding;
};

// Large enough for sums of planes: padding, strides and dilations that leave planes out, one tap.
constexpr Volume kVolumes[] = {
    {2, 3, 16, 16, 48, 3, 1, 1, Padding::kSame}, {1, 5, 34, 32, 64, 3, 2, 1, Padding::kSame},
    {1, 7, 20, 48, 32, 3, 1, 2, Padding::kSame}, {2, 4, 18, 32, 32, 3, 1, 1, Padding::kValid},
    {2, 2, 24, 64, 64, 1, 1, 1, Padding::kSame}, {1, 1, 33, 16, 32, 3, 2, 1, Padding::kSame},
};

ConvNdShape VolumeShape(const Volume& v) {
  const Window planes = *MakeWindow(v.planes, v.filter, v.stride, v.dilation, v.padding);
  const Window rows = *MakeWindow(v.size, v.filter, 1, 1, v.padding);
  return {v.batch, {planes, rows, rows}, v.in, v.out};
}

ConvResults RunVolume(const ConvNdShape& s, int threads, ConvPlans* plans) {
  const ConvOperands of(s);
  ConvResults r(of);
  TestWork work(BestIsaLevel(), threads);
  const DType t = DType::kFloat;
  EXPECT_TRUE(ConvNd(work, t, s, of.x.data(), of.f.data(), r.y.data(), plans).ok());
  EXPECT_TRUE(ConvNdBackwardInput(work, t, s, of.f.data(), of.g.data(), r.dx.data(), plans).ok());
  EXPECT_TRUE(ConvNdBackwardFilter(work, t, s, of.x.data(), of.g.data(), r.df.data(), plans).ok());
  return r;
}

TEST(ConvNdTest, SumsOfPlanesAreTheWholeAndDoNotDependOnThreads) {
  for (const Volume& volume : kVolumes) {
    SCOPED_TRACE(testing::Message() << volume.planes << " planes, filter " << volume.filter);
    const ConvNdShape s = VolumeShape(volume);
    ConvPlans plans;
    const ConvResults patches = RunVolume(s, 2, nullptr), one = RunVolume(s, 1, &plans);
    ExpectClose(patches, one);
    EXPECT_FALSE(patches == one) << "the sums were to be made in another order";
    EXPECT_TRUE(one == RunVolume(s, 3, &plans));
  }
}

TEST(ConvNdTest, RefusedScratchOfSumsOfPlanesIsAnError) {
  const ConvNdShape s = VolumeShape(kVolumes[0]);
  const std::vector<float> f(s.Taps() * s.in_channels * s.out_channels),
      g(s.batch * s.OutPixels() * s.out_channels);
  std::vector<float> dx(s.batch * s.InPixels() * s.in_channels);
  TestWork work;
  work.refuse_scratch = true;
  ConvPlans plans;
  EXPECT_EQ(
      ConvNdBackwardInput(work, DType::kFloat, s, f.data(), g.data(), dx.data(), &plans).code(),
      Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg::compute
