// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv_nd.h"

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/compute/test_work.h"

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

struct VolumeResults {
  std::vector<float> y, dx, df;
  bool operator==(const VolumeResults&) const = default;
};

// What is written is not zero beforehand.
VolumeResults RunVolume(const ConvNdShape& s, int threads, ConvPlans* plans) {
  const auto x = RandomValues(s.batch * s.InPixels() * s.in_channels);
  const auto f = RandomValues(s.Taps() * s.in_channels * s.out_channels, -1, 1, 2);
  const auto g = RandomValues(s.batch * s.OutPixels() * s.out_channels, -1, 1, 3);
  VolumeResults r{std::vector<float>(g.size(), 7), std::vector<float>(x.size(), 7),
                  std::vector<float>(f.size(), 7)};
  TestWork work(BestIsaLevel(), threads);
  const DType t = DType::kFloat;
  EXPECT_TRUE(ConvNd(work, t, s, x.data(), f.data(), r.y.data(), plans).ok());
  EXPECT_TRUE(ConvNdBackwardInput(work, t, s, f.data(), g.data(), r.dx.data(), plans).ok());
  EXPECT_TRUE(ConvNdBackwardFilter(work, t, s, x.data(), g.data(), r.df.data(), plans).ok());
  return r;
}

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 3e-3) << what << " at " << i;
}

TEST(ConvNdTest, SumsOfPlanesAreTheWholeAndDoNotDependOnThreads) {
  for (const Volume& volume : kVolumes) {
    SCOPED_TRACE(testing::Message() << volume.planes << " planes, filter " << volume.filter);
    const ConvNdShape s = VolumeShape(volume);
    ConvPlans plans;
    const VolumeResults patches = RunVolume(s, 2, nullptr), one = RunVolume(s, 1, &plans);
    ExpectNear(patches.y, one.y, "output");
    ExpectNear(patches.dx, one.dx, "input gradient");
    ExpectNear(patches.df, one.df, "filter gradient");
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
