// SPDX-License-Identifier: Apache-2.0
// Wide and deep learning (Cheng and others 2016) of made clicks: tables of embeddings with sparse
// gradients, and a linear part. Argument: STEPS.
#include <cstdlib>

#include "model.h"

namespace ops = tw::ops;

constexpr int kBatch = 256, kTables = 8, kRows = 500, kWidth = 16;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  Model model(g);
  const tw::Output ids = g.Placeholder("ids", tw::kInt32, {kTables, kBatch});
  const tw::Output clicked = g.Placeholder("clicked", tw::kFloat, {kBatch});
  const tw::Output axis0 = g.Scalar<int32_t>(0), axis1 = g.Scalar<int32_t>(1);
  std::vector<tw::Output> deep, wide;
  for (const tw::Output& column : ops::Unpack(ids, kTables)) {
    deep.push_back(ops::GatherV2(model.Weights({kRows, kWidth}, 200), column, axis0));
    wide.push_back(ops::GatherV2(model.Weights({kRows}, 0), column, axis0));
  }
  tw::Output x = ops::Relu(model.Dense(ops::ConcatV2(deep, axis1), kTables * kWidth, 64));
  x = model.Reshape(model.Dense(x, 64, 1), {kBatch}) + ops::AddN(wide);
  // log(1 + exp(-x)) for a click, log(1 + exp(x)) for none
  const tw::Output loss = model.Mean(ops::Softplus(x) - x * clicked);

  // What decides a click, hidden from the model: a weight for each value of each column.
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> taste(kTables * kRows);
  std::generate(taste.begin(), taste.end(), [&] { return normal(random); });
  std::geometric_distribution<int32_t> value(0.02);
  return model.Train(
      loss, tw::Optimizer::Adagrad(0.1), steps, 0.85,
      [&](int) {
        std::vector<int32_t> rows(kTables * kBatch);
        std::vector<float> score(kBatch), click;
        for (size_t i = 0; i < rows.size(); ++i) {
          rows[i] = value(random) % kRows;
          score[i % kBatch] += taste[i / kBatch * kRows + rows[i]];
        }
        for (float s : score) click.push_back(s > normal(random) ? 1.0f : 0.0f);
        return tw::Feeds{{ids, tw::Tensor::Of<int32_t>(rows, {kTables, kBatch})},
                         {clicked, tw::Tensor::Of<float>(click, {kBatch})}};
      },
      kBatch, "examples");
}
