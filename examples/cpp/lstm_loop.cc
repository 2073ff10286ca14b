// SPDX-License-Identifier: Apache-2.0
// A language model of characters whose LSTM is a loop in the graph: sequences of any length, one
// set of nodes (Yu and others 2018, "Dynamic control flow in large-scale machine learning"). It
// reads this project's license, trains on sequences of many lengths. Arguments: STEPS UNITS.
#include <thalweg/control_flow.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "model.h"

namespace ops = tw::ops;

constexpr int kBatch = 20, kLongest = 25;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100, units = argc > 2 ? std::atoi(argv[2]) : 64;
  std::ifstream file(LICENSE_FILE);
  std::map<char, int32_t> symbols;
  std::vector<int32_t> text;
  for (std::istreambuf_iterator<char> c(file), end; c != end; ++c) {
    text.push_back(symbols.try_emplace(*c, static_cast<int32_t>(symbols.size())).first->second);
  }
  const int count = static_cast<int>(symbols.size());

  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  Model model(g);
  // [time, batch]: a character, and the one that follows.
  const tw::Output read = g.Placeholder("read", tw::kInt32, {-1, kBatch});
  const tw::Output following = g.Placeholder("following", tw::kInt32, {-1, kBatch});
  const tw::Output embedding = model.Weights({count, units}, units);
  const tw::Output w = model.Weights({2 * units, 4 * units}, 4 * units);
  const tw::Output b = model.Weights({4 * units}, 0);
  const tw::Output out_w = model.Weights({units, count}, units), out_b = model.Weights({count}, 0);

  const tw::Output axis0 = g.Scalar<int32_t>(0), axis1 = g.Scalar<int32_t>(1);
  const tw::Output one = g.Scalar(1.0f);
  const tw::Output length = ops::GatherV2(ops::Shape(read), axis0, axis0);
  const tw::Output zeros = g.Const(tw::Tensor::Of<float>(
      std::vector<float>(static_cast<size_t>(kBatch * units)), {kBatch, units}));
  const tw::Outputs last = tw::WhileLoop(
      g, {axis0, zeros, zeros, g.Scalar(0.0f)},
      [&](const tw::Outputs& v) { return ops::Less(v[0], length); },
      [&](const tw::Outputs& v) {
        const tw::Output x = ops::GatherV2(embedding, ops::GatherV2(read, v[0], axis0), axis0);
        const std::vector<tw::Output> gates =
            ops::Split(axis1, ops::BiasAdd(ops::MatMul(ops::ConcatV2({x, v[2]}, axis1), w), b), 4);
        const tw::Output c =
            v[1] * ops::Sigmoid(gates[2] + one) + ops::Sigmoid(gates[0]) * ops::Tanh(gates[1]);
        const tw::Output h = ops::Tanh(c) * ops::Sigmoid(gates[3]);
        const tw::Output loss = model.CrossEntropy(ops::BiasAdd(ops::MatMul(h, out_w), out_b),
                                                   ops::GatherV2(following, v[0], axis0));
        return tw::Outputs{v[0] + axis1, c, h, v[3] + loss};
      });
  const tw::Output loss = last[3] / ops::Cast(length, tw::kFloat);

  std::mt19937 random(1);
  return model.Train(
      loss, tw::Optimizer::Adam(5e-3), steps, 0.85,
      [&](int) {
        const size_t longest = 5 + random() % (kLongest - 4);
        std::vector<int32_t> x(longest * kBatch), y(x);
        for (size_t row = 0; row < kBatch; ++row) {
          const size_t start = random() % (text.size() - longest - 1);
          for (size_t t = 0; t < longest; ++t) {
            x[t * kBatch + row] = text[start + t];
            y[t * kBatch + row] = text[start + t + 1];
          }
        }
        const std::vector<int64_t> shape = {static_cast<int64_t>(longest), kBatch};
        return tw::Feeds{{read, tw::Tensor::Of<int32_t>(x, shape)},
                         {following, tw::Tensor::Of<int32_t>(y, shape)}};
      },
      kBatch * (kLongest + 5) / 2, "characters");
}
