// SPDX-License-Identifier: Apache-2.0
// A language model of characters: two LSTM layers (Zaremba and others 2014), unrolled, that read
// this project's license. Arguments: STEPS UNITS.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "model.h"

namespace ops = tw::ops;

constexpr int kBatch = 20, kLength = 20;

// Characters as numbers from 0 on.
std::vector<int32_t> ReadText(const std::string& path, int* symbols) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<int32_t> number(256, -1), numbers;
  *symbols = 0;
  for (const char c : text) {
    int32_t& n = number[static_cast<unsigned char>(c)];
    if (n < 0) n = (*symbols)++;
    numbers.push_back(n);
  }
  return numbers;
}

// One layer over all places of the sequence.
std::vector<tw::Output> LstmLayer(tw::Graph& g, Model& model, const std::vector<tw::Output>& inputs,
                                  int units) {
  const tw::Output w = model.Weights({2 * units, 4 * units}, 4 * units);
  const tw::Output b = model.Weights({4 * units}, 0);
  const tw::Output one = g.Scalar(1.0f), axis = g.Scalar<int32_t>(1);
  tw::Output c = g.Const(tw::Tensor::Of<float>(
                 std::vector<float>(static_cast<size_t>(kBatch * units)), {kBatch, units})),
             h = c;
  std::vector<tw::Output> outputs;
  for (const tw::Output& x : inputs) {
    const std::vector<tw::Output> gates =
        ops::Split(axis, ops::BiasAdd(ops::MatMul(ops::ConcatV2({x, h}, axis), w), b), 4);
    c = c * ops::Sigmoid(gates[2] + one) + ops::Sigmoid(gates[0]) * ops::Tanh(gates[1]);
    h = ops::Tanh(c) * ops::Sigmoid(gates[3]);
    outputs.push_back(h);
  }
  return outputs;
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 80, units = argc > 2 ? std::atoi(argv[2]) : 64;
  int symbols = 0;
  const std::vector<int32_t> text = ReadText(LICENSE_FILE, &symbols);

  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  Model model(g);
  const tw::Output read = g.Placeholder("read", tw::kInt32, {kBatch, kLength});
  const tw::Output following = g.Placeholder("following", tw::kInt32, {kBatch, kLength});
  const tw::Output embedded =
      ops::GatherV2(model.Weights({symbols, units}, units), read, g.Scalar<int32_t>(0));
  std::vector<tw::Output> places = ops::Unpack(embedded, kLength, {{"axis", 1}});
  for (int layer = 0; layer < 2; ++layer) places = LstmLayer(g, model, places, units);
  const tw::Output flat = model.Reshape(ops::Pack(places, {{"axis", 1}}), {-1, units});
  const tw::Output loss =
      model.CrossEntropy(model.Dense(flat, units, symbols), model.Reshape(following, {-1}));

  std::mt19937 random(1);
  return model.Train(
      loss, tw::Optimizer::Adam(2e-3), steps, 0.85,
      [&](int) {
        std::vector<int32_t> x, y;
        for (int row = 0; row < kBatch; ++row) {
          const size_t start = random() % (text.size() - kLength - 1);
          x.insert(x.end(), text.begin() + start, text.begin() + start + kLength);
          y.insert(y.end(), text.begin() + start + 1, text.begin() + start + 1 + kLength);
        }
        return tw::Feeds{{read, tw::Tensor::Of<int32_t>(x, {kBatch, kLength})},
                         {following, tw::Tensor::Of<int32_t>(y, {kBatch, kLength})}};
      },
      kBatch * kLength, "characters");
}
