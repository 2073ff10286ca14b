// SPDX-License-Identifier: Apache-2.0
// Random convolutional networks with and without the rewrites of convolutions.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "thalweg/api/test_random_network.h"

namespace thalweg {
namespace {

constexpr int64_t kSize = 8, kChannels = 32;

// Four layers: a convolution, a normalization or a bias, what came before added, an activation.
class RandomConvNet {
 public:
  RandomConvNet(GraphBuilder builder, unsigned seed, const char* format = "NHWC")
      : format_(format), b_(std::move(builder)), random_(seed) {
    const int64_t batch = Pick({1, 3});
    dims_ = format_ == "NHWC" ? Dims{batch, kSize, kSize, kChannels}
                              : Dims{batch, kChannels, kSize, kSize};
    x = b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape(dims_))}},
              "x");
    y = x;
    for (int i = 0; i < 4; ++i) y = Layer(y);
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
  }

  Tensor Input() { return Values(dims_, -1, 1); }

  Output x, y;
  std::vector<Node*> initializers;
  std::vector<Node*> changes;  // each writes a variable

 private:
  int64_t Pick(std::vector<int64_t> of) { return of[random_() % of.size()]; }
  Tensor Values(const Dims& dims, float from, float to) {
    std::uniform_real_distribution<float> distribution(from, to);
    std::vector<float> values(static_cast<size_t>(Shape(dims).num_elements()));
    for (float& v : values) v = distribution(random_);
    return Tensor::Of<float>(values, Shape(dims));
  }
  // A constant, or a variable with that as its first value.
  Output Weight(const Dims& dims, float from, float to) {
    const Output value = b_.Const(Values(dims, from, to));
    if (Pick({0, 1, 2}) == 0) return value;
    const Output variable =
        b_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape(dims))}});
    initializers.push_back(b_.OpNode("Assign", {variable, value}));
    changes.push_back(b_.OpNode("AssignAdd", {variable, b_.Const(Values(dims, 0.0f, 0.1f))}));
    return b_.Op("Identity", {variable});
  }
  Output Layer(Output value) {
    const int64_t taps = Pick({1, 3});
    const AttrMap attrs = {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                           {"padding", std::string("SAME")},
                           {"data_format", format_}};
    Output now =
        b_.Op("Conv2D", {value, Weight({taps, taps, kChannels, kChannels}, -0.1f, 0.1f)}, attrs);
    const auto vector = [&](float from, float to) { return Weight({kChannels}, from, to); };
    const int64_t what = Pick({0, 1, 1, 2});
    if (what == 0) {
      now = b_.Op("BiasAdd", {now, vector(-1, 1)}, {{"data_format", format_}});
    }
    if (what == 1) {
      const std::vector<Output> inputs = {now, vector(0.5f, 2), vector(-1, 1), vector(-1, 1),
                                          vector(0.5f, 2)};
      now = b_.Op("FusedBatchNormV3", inputs,
                  {{"is_training", false}, {"epsilon", 1e-3f}, {"data_format", format_}});
    }
    if (Pick({0, 1}) == 0) now = b_.Op("AddV2", {value, now});
    const char* activations[] = {"Relu", "Relu6", "Elu", "LeakyRelu", ""};
    const std::string activation = activations[Pick({0, 1, 2, 3, 4})];
    return activation.empty() ? now : b_.Op(activation, {now});
  }

  const std::string format_;
  GraphBuilder b_;
  std::mt19937 random_;
  Dims dims_;
};

class ChannelsFirstNet : public RandomConvNet {
 public:
  ChannelsFirstNet(GraphBuilder builder, unsigned seed)
      : RandomConvNet(std::move(builder), seed, "NCHW") {}
};

TEST(ConvFusionTest, RandomNetsGiveTheSameWithinRounding) {
  const std::string plain = "-fuse_epilogue,-pack_weights";
  int alive = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto expected = RunRandomNetwork<RandomConvNet>(seed, 0, plain);
    ASSERT_EQ(expected.size(), 6u);
    const auto fused = RunRandomNetwork<RandomConvNet>(seed, 0, "-pack_weights");
    const auto packed = RunRandomNetwork<RandomConvNet>(seed, 2, {});
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(packed[i].size(), expected[i].size());
      for (size_t j = 0; j < expected[i].size(); ++j) {
        const float most = 1e-3f * (1 + std::abs(expected[i][j]));
        ASSERT_NEAR(fused[i][j], expected[i][j], most) << "fused, seed " << seed;
        ASSERT_NEAR(packed[i][j], expected[i][j], most) << "packed, seed " << seed;
        alive += expected[i][j] != 0 ? 1 : 0;
      }
    }
    EXPECT_NE(expected[0], expected[2]) << "the change of variables was seen by nobody";
  }
  EXPECT_GT(alive, 10000);
}

TEST(ConvFusionTest, ChannelsFirstNetsGiveTheSameWithinRounding) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto expected = RunRandomNetwork<ChannelsFirstNet>(seed, 0, "none");
    const auto last = RunRandomNetwork<ChannelsFirstNet>(seed, 2, {});
    ASSERT_EQ(last.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(last[i].size(), expected[i].size());
      for (size_t j = 0; j < expected[i].size(); ++j) {
        const float most = 1e-3f * (1 + std::abs(expected[i][j]));
        ASSERT_NEAR(last[i][j], expected[i][j], most) << "seed " << seed;
      }
    }
  }
}

TEST(ConvFusionTest, ErrorsNameTheNodesThatWereFused) {
  auto environment = *Environment::Create({.threads = 0}, MakeRegistries());
  auto graph = std::make_shared<Graph>(environment->shared_ops());
  GraphBuilder b(graph.get());
  const AttrMap attrs = {{"dtype", DType::kFloat}};
  const Output x = b.Op("Placeholder", {}, attrs, "x"), w = b.Op("Placeholder", {}, attrs, "w");
  const Output bias = b.Op("Placeholder", {}, attrs, "b");
  const Output conv =
      b.Op("Conv2D", {x, w},
           {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}}, "c");
  const Output y = b.Op("Relu", {b.Op("BiasAdd", {conv, bias}, {}, "a")}, {}, "y");
  ASSERT_TRUE(b.ok());
  auto session = *MakeLocalSession(environment, graph);
  const Tensor image = Tensor::Of<float>(std::vector<float>(16), Shape{1, 4, 4, 1});
  const auto run = session->Run({{"x", image},
                                 {"w", Tensor::Of<float>(std::vector<float>(1), Shape{1, 1, 1, 1})},
                                 {"b", Tensor::Vector<float>({1, 2})}},
                                {y.ToString()});
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.status().message().find("Conv2D 'c', BiasAdd 'a', Relu 'y'"), std::string::npos)
      << run.status().ToString();
}

}  // namespace
}  // namespace thalweg
