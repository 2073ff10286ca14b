// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/conv/test_conv.h"
#include "thalweg/compute/isa/components.h"

namespace thalweg::compute {
namespace {

struct Layer {
  int64_t batch, size, in, filter, out, stride;
  Padding padding;
};

// Large enough for the component; odd batches, bands of rows, strides that leave a rest.
constexpr Layer kLayers[] = {
    {1, 19, 48, 3, 64, 1, Padding::kSame},  {1, 23, 32, 3, 80, 2, Padding::kSame},
    {1, 30, 64, 1, 64, 1, Padding::kValid}, {3, 15, 64, 3, 64, 1, Padding::kSame},
    {5, 9, 256, 3, 256, 1, Padding::kSame}, {6, 16, 64, 3, 96, 2, Padding::kValid},
    {2, 31, 64, 1, 128, 2, Padding::kSame}, {2, 61, 3, 7, 64, 2, Padding::kSame},
};

Conv2DShape ShapeOf(const Layer& l) {
  const Window w = *MakeWindow(l.size, l.filter, l.stride, 1, l.padding);
  return {l.batch, w, w, l.in, l.out};
}

ConvResults RunAll(const Conv2DShape& s, int threads, ConvPlans* plans) {
  const ConvOperands of(s);
  const auto bias = RandomValues(s.out_channels, -1, 1, 4);
  ConvResults r(of);
  TestWork work(BestIsaLevel(), threads);
  const DType t = DType::kFloat;
  EXPECT_TRUE(Conv2D(work, t, s, of.x.data(), of.f.data(), r.y.data(),
                     {.bias = bias.data(), .relu = true}, plans)
                  .ok());
  EXPECT_TRUE(Conv2DBackwardInput(work, t, s, of.f.data(), of.g.data(), r.dx.data(), plans).ok());
  EXPECT_TRUE(Conv2DBackwardFilter(work, t, s, of.x.data(), of.g.data(), r.df.data(), plans).ok());
  return r;
}

#ifdef THALWEG_BUILDS_DNNL  // the component is built where libdnnl is installed
TEST(ConvPlansTest, AgreeWithTheOwnPathAndDoNotDependOnThreads) {
  ASSERT_TRUE(HasConvComponent()) << "it was built, and must be found";
  for (const Layer& layer : kLayers) {
    SCOPED_TRACE(testing::Message() << "in " << layer.in << " size " << layer.size);
    const Conv2DShape s = ShapeOf(layer);
    ConvPlans plans;
    const ConvResults own = RunAll(s, 2, nullptr), one = RunAll(s, 1, &plans);
    ExpectClose(own, one);
    EXPECT_TRUE(one == RunAll(s, 3, &plans));
  }
}

TEST(ConvPlansTest, ComponentTakesResnetLayers) {
  ASSERT_TRUE(HasConvComponent()) << "it was built, and must be found";
  const Conv2DShape s = ShapeOf(kLayers[3]);
  ConvPlans plans;
  const bool own = BestIsaLevel() != HardwareIsaLevel();  // in a build capped below the CPU
  EXPECT_EQ(RunAll(s, 1, &plans) == RunAll(s, 1, nullptr), own) << "bits of the own path";
}
#endif

TEST(ConvPlansTest, StrictTablesAndLowerLevelsUseNone) {
  ThalwegDnnlConv conv{};
  conv.batch = conv.in_channels = conv.out_channels = 16;
  for (int d : {0, 1}) {
    conv.input[d] = conv.output[d] = 8;
    conv.filter[d] = conv.stride[d] = conv.dilation[d] = 1;
  }
  ConvPlans plans;
  const IsaLevel best = BestIsaLevel();
  EXPECT_EQ(plans.Find(GetStrictIsaTable(best), conv), nullptr);
  EXPECT_EQ(GetStrictIsaTable(best).level, best);
  if (best != IsaLevel::kSse4) {
    EXPECT_EQ(plans.Find(GetIsaTable(IsaLevel::kSse4), conv), nullptr);
  }
  EXPECT_EQ(plans.Find(GetIsaTable(best), conv) != nullptr,
            best == HardwareIsaLevel() && HasConvComponent());
}

// Keeps one packed filter, and counts.
class OneFilter final : public PackedFilterCache {
 public:
  const float* Find(std::string_view format) override {
    return format == format_ ? packed_.data() : nullptr;
  }
  float* Allocate(int64_t floats) override {
    packed_.assign(floats + 16, 0);
    ++made;
    return packed_.data();
  }
  void Keep(std::string_view format) override { format_ = format; }

  int made = 0;

 private:
  std::vector<float> packed_;
  std::string format_ = "nothing";
};

// Kept filters, scales and residuals, beside an unscaled convolution without them.
TEST(ConvPlansTest, KeptAndScaledFilters) {
  for (const Layer& layer : kLayers) {
    SCOPED_TRACE(testing::Message() << "in " << layer.in << " size " << layer.size);
    const Conv2DShape s = ShapeOf(layer);
    const auto x = RandomValues(s.batch * s.InPixels() * s.in_channels);
    auto f = RandomValues(s.Taps() * s.in_channels * s.out_channels, -1, 1, 2);
    const auto residual = RandomValues(s.batch * s.OutPixels() * s.out_channels, -1, 1, 3);
    const auto bias = RandomValues(s.out_channels, -1, 1, 4);
    const auto scale = RandomValues(s.out_channels, 0.5, 1, 5);
    auto scaled = f;
    for (size_t i = 0; i < f.size(); ++i) scaled[i] *= scale[i % scale.size()];
    std::vector<float> expected(residual.size());
    TestWork work(BestIsaLevel(), 2);
    ASSERT_TRUE(Conv2D(work, DType::kFloat, s, x.data(), scaled.data(), expected.data(),
                       {.bias = bias.data()})
                    .ok());
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] = std::max(0.0f, expected[i] + residual[i]);
    }
    for (const bool component : {false, true}) {
      ConvPlans plans;
      OneFilter kept;
      for (int call = 0; call < 2; ++call) {
        std::vector<float> y = residual, z(residual.size());
        const ConvFilter filter(f.data(), scale.data(), &kept);
        const GemmEpilogue in_place{bias.data(), y.data(), true};
        const GemmEpilogue apart{bias.data(), residual.data(), true};
        ConvPlans* const used = component ? &plans : nullptr;
        ASSERT_TRUE(
            Conv2D(work, DType::kFloat, s, x.data(), filter, y.data(), in_place, used).ok());
        ASSERT_TRUE(Conv2D(work, DType::kFloat, s, x.data(), filter, z.data(), apart, used).ok());
        ExpectClose(expected, y, "output");
        EXPECT_EQ(y, z);
      }
      EXPECT_EQ(kept.made, 1);
    }
  }
}

TEST(ConvPlansTest, RefusedScratchIsAnError) {
  const Conv2DShape s = ShapeOf(kLayers[3]);
  const std::vector<float> x(s.batch * s.InPixels() * s.in_channels),
      f(s.Taps() * s.in_channels * s.out_channels);
  std::vector<float> y(s.batch * s.OutPixels() * s.out_channels);
  TestWork work;
  work.refuse_scratch = true;
  ConvPlans plans;
  EXPECT_EQ(Conv2D(work, DType::kFloat, s, x.data(), f.data(), y.data(), {}, &plans).code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg::compute
