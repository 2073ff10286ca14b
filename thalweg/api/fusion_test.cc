// SPDX-License-Identifier: Apache-2.0
// Random networks of products, biases, activations and loops give the same bits with and without
// the passes that fuse and pack, before and after their variables change.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "thalweg/api/test_random_network.h"

namespace thalweg {
namespace {

class RandomNetwork {
 public:
  RandomNetwork(GraphBuilder b, unsigned seed) : b_(std::move(b)), random_(seed) {
    batch_ = Pick({1, 2, 7, 40});
    x = b_.Op("Placeholder", {},
              {{"dtype", DType::kFloat},
               {"shape", PartialShape{Pick({0, 1}) == 0 ? -1 : batch_, kInputs}}},
              "x");
    Output value = x;
    int64_t width = kInputs;
    for (int i = 0; i < 4; ++i) value = Layer(value, &width);
    y = b_.Op("Sum", {value, b_.Const(std::vector<int32_t>{1})});
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
  }

  Tensor Input() { return Values({batch_, kInputs}); }

  Output x, y;
  std::vector<Node*> initializers;
  std::vector<Node*> changes;  // each writes a variable

 private:
  static constexpr int64_t kInputs = 64;

  int64_t Pick(std::vector<int64_t> of) { return of[random_() % of.size()]; }
  Tensor Values(const Dims& dims) {
    std::uniform_real_distribution<float> distribution(-0.3f, 0.3f);
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    std::vector<float> values(static_cast<size_t>(n));
    for (float& v : values) v = distribution(random_);
    return Tensor::Of<float>(values, Shape(dims));
  }
  Output Weight(const Dims& dims) {
    const Output value = b_.Const(Values(dims));
    if (Pick({0, 1, 2}) == 0) return value;
    const Output variable =
        b_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape(dims))}});
    initializers.push_back(b_.OpNode("Assign", {variable, value}));
    changes.push_back(b_.OpNode("AssignAdd", {variable, value}));
    return b_.Op("Identity", {variable});
  }
  Output Layer(Output value, int64_t* width) {
    const int64_t n = Pick({1, 10, 64, 130});
    const bool transposed = Pick({0, 1}) == 1;
    const Output w = transposed ? Weight({n, *width}) : Weight({*width, n});
    Output now = b_.Op("MatMul", {value, w}, {{"transpose_b", transposed}});
    if (Pick({0, 1, 2}) > 0) {
      now = b_.Op(Pick({0, 1}) == 0 ? "BiasAdd" : "AddV2", {now, Weight({n})});
      if (*width == n && Pick({0, 1}) == 0) now = b_.Op("AddV2", {value, now});
    }
    const char* activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu", ""};
    const std::string activation = activations[Pick({0, 1, 2, 3, 4, 5, 6})];
    if (!activation.empty()) now = b_.Op(activation, {now});
    *width = n;
    return now;
  }

  GraphBuilder b_;
  std::mt19937 random_;
  int64_t batch_ = 1;
};

TEST(FusionTest, RandomNetworksKeepTheirBits) {
  const std::string plain = "-fuse_epilogue,-pack_weights";
  int zeros = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const auto expected = RunRandomNetwork<RandomNetwork>(seed, 0, plain);
    ASSERT_EQ(expected.size(), 6u);
    zeros += expected[0] == std::vector<float>(expected[0].size()) ? 1 : 0;
    EXPECT_EQ(RunRandomNetwork<RandomNetwork>(seed, 0, "-pack_weights"), expected)
        << "fused, seed " << seed;
    const auto packed = RunRandomNetwork<RandomNetwork>(seed, 2, {});
    ASSERT_EQ(packed.size(), expected.size());
    for (size_t i = 0; i < packed.size(); ++i) {
      ASSERT_EQ(packed[i].size(), expected[i].size());
      // Dot products, where b lies transposed and nothing packs it, sum in another order.
      for (size_t j = 0; j < packed[i].size(); ++j) {
        ASSERT_NEAR(packed[i][j], expected[i][j], 1e-4) << "packed, seed " << seed;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_LT(zeros, 10) << "networks whose last activation leaves nothing compare nothing";
}

// Twelve products of one fed matrix, half of them of its transpose.
class UnrolledNetwork {
 public:
  UnrolledNetwork(GraphBuilder b, unsigned) {
    const auto place = [&](int64_t rows, const char* name) {
      return b.Op("Placeholder", {},
                  {{"dtype", DType::kFloat}, {"shape", PartialShape{rows, kUnits}}}, name);
    };
    x = place(kUnits + kBatch, "x");
    const Output start = b.Op("Slice", {x, b.Const(std::vector<int32_t>{0, 0}),
                                        b.Const(std::vector<int32_t>{kBatch, kUnits})});
    const Output w = b.Op("Slice", {x, b.Const(std::vector<int32_t>{kBatch, 0}),
                                    b.Const(std::vector<int32_t>{kUnits, kUnits})});
    Output h = start;
    for (int i = 0; i < 12; ++i) {
      h = b.Op("MatMul", {h, w}, {{"transpose_b", i >= 6}});
      h = b.Op("Tanh", {b.Op("AddV2", {h, start})});
    }
    y = h;
    EXPECT_TRUE(b.ok()) << b.status().ToString();
  }

  static Tensor Input() {
    std::vector<float> values(static_cast<size_t>((kBatch + kUnits) * kUnits));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7919 % 1013) / 5065 - 0.1f;
    }
    return Tensor::Of<float>(values, Shape{kBatch + kUnits, kUnits});
  }

  Output x, y;
  std::vector<Node*> initializers, changes;

 private:
  static constexpr int kBatch = 20, kUnits = 83;
};

TEST(FusionTest, AMatrixPackedOnceForManyProductsKeepsTheirBits) {
  const auto expected = RunRandomNetwork<UnrolledNetwork>(1, 0, "-pack_weights");
  ASSERT_FALSE(expected.empty());
  for (const int threads : {0, 2}) {
    EXPECT_EQ(RunRandomNetwork<UnrolledNetwork>(1, threads, {}), expected);
  }
}

TEST(FusionTest, ErrorsNameTheNodesThatWereFused) {
  auto environment = *Environment::Create({.threads = 0}, MakeRegistries());
  auto graph = std::make_shared<Graph>(environment->shared_ops());
  GraphBuilder b(graph.get());
  const AttrMap attrs = {{"dtype", DType::kFloat}};
  const Output x = b.Op("Placeholder", {}, attrs, "x"), w = b.Op("Placeholder", {}, attrs, "w");
  const Output bias = b.Op("Placeholder", {}, attrs, "b");
  const Output y =
      b.Op("Relu", {b.Op("BiasAdd", {b.Op("MatMul", {x, w}, {}, "m"), bias}, {}, "a")}, {}, "y");
  ASSERT_TRUE(b.ok());
  auto session = *MakeLocalSession(environment, graph);
  const Tensor square = Tensor::Of<float>(std::vector<float>(4), Shape{2, 2});
  const auto run = session->Run({{"x", square}, {"w", square}, {"b", Tensor::Vector<float>({1})}},
                                {y.ToString()});
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.status().message().find("MatMul 'm', BiasAdd 'a', Relu 'y'"), std::string::npos)
      << run.status().ToString();
}

}  // namespace
}  // namespace thalweg
