// SPDX-License-Identifier: Apache-2.0
// What the two nets of the examples share: variables, dense layers, training on the digits,
// accuracy.
//
//   DigitsNet net(g);
//   int rc = net.TrainAndTest(net.Dense(net.images, 64, 10), 30, 0.95);
//
// Ownership: the graph outlives it, and owns the nodes.
// Threads: the caller's alone.
// Errors: thrown as tw::Error.
#pragma once

#include <thalweg/thalweg.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "digits.h"

class DigitsNet {
 public:
  explicit DigitsNet(tw::Graph& g)
      : images(g.Placeholder("images", tw::kFloat, {-1, 64})),
        labels(g.Placeholder("labels", tw::kInt32, {-1})),
        g_(g) {}

  tw::Output images, labels;

  // A variable of normal random values fit for a layer with that many inputs; of zeros for 0.
  tw::Output Weights(const std::vector<int64_t>& shape, int inputs) {
    std::vector<float> values(static_cast<size_t>(
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
    std::normal_distribution<float> normal(0, inputs == 0 ? 0 : std::sqrt(2.0f / inputs));
    if (inputs != 0) std::generate(values.begin(), values.end(), [&] { return normal(random_); });
    const std::string name = "v" + std::to_string(variables_.size());
    variables_.push_back(g_.Variable(name, g_.Const(tw::Tensor::Of<float>(values, shape))));
    return variables_.back();
  }
  tw::Output Dense(const tw::Output& x, int inputs, int outputs) {
    return g_.Op("BiasAdd",
                 {g_.Op("MatMul", {x, Weights({inputs, outputs}, inputs)}), Weights({outputs}, 0)});
  }

  // Trains on the digits; 0 when the accuracy on the test part is at least `wanted`.
  int TrainAndTest(const tw::Output& scores, int epochs, double wanted) {
    const tw::Output losses = g_.Op("SparseSoftmaxCrossEntropyWithLogits", {scores, labels});
    const tw::Output loss = g_.Op("Mean", {losses, g_.Const<int32_t>({0}, {1})});
    const tw::Output rate = g_.Placeholder("rate", tw::kFloat, {});
    tw::Optimizer adam = tw::Optimizer::Adam();
    adam.Set("learning_rate", rate);
    const tw::Node step = adam.Minimize(loss, variables_);
    const tw::Output guess = g_.Op("ArgMax", {scores, g_.Scalar<int32_t>(1)});

    std::vector<tw::Node> initializers = adam.Initializers();
    for (const tw::Variable& v : variables_) initializers.push_back(v.initializer);
    tw::Session session = tw::Session::Create(g_).OrThrow();
    session.Run({}, {}, initializers).OrThrow();

    const Digits digits = LoadDigits(DIGITS_FOLDER);
    std::vector<int> order(digits.train.labels.size());
    std::iota(order.begin(), order.end(), 0);
    for (int epoch = 0; epoch < epochs; ++epoch) {
      std::shuffle(order.begin(), order.end(), random_);
      const float now = 2e-3f * (1 - static_cast<float>(epoch) / epochs);
      float last = 0;
      for (size_t begin = 0; begin + 64 <= order.size(); begin += 64) {
        const auto [x, y] = Rows(digits.train, {order.begin() + begin, order.begin() + begin + 64});
        last =
            session.Run({{images, x}, {labels, y}, {rate, tw::Tensor::Scalar(now)}}, {loss}, {step})
                .OrThrow()[0]
                .scalar<float>();
      }
      if (epoch % 10 == 9) std::printf("epoch %d  loss %.4f\n", epoch + 1, last);
    }

    std::vector<int> all(digits.test.labels.size());
    std::iota(all.begin(), all.end(), 0);
    const auto [x, y] = Rows(digits.test, all);
    const tw::Tensor guesses = session.Run({{images, x}}, {guess}).OrThrow()[0];
    int right = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      right += guesses.data<int64_t>()[i] == digits.test.labels[i];
    }
    const double accuracy = right / static_cast<double>(all.size());
    std::printf("test accuracy: %.4f\n", accuracy);
    return accuracy >= wanted ? 0 : 1;
  }

 private:
  static std::pair<tw::Tensor, tw::Tensor> Rows(const DigitsPart& part,
                                                const std::vector<int>& rows) {
    std::vector<float> x;
    std::vector<int32_t> y;
    for (int row : rows) {
      x.insert(x.end(), part.images.begin() + 64 * row, part.images.begin() + 64 * (row + 1));
      y.push_back(part.labels[row]);
    }
    const auto n = static_cast<int64_t>(rows.size());
    return {tw::Tensor::Of<float>(x, {n, 64}), tw::Tensor::Of<int32_t>(y, {n})};
  }

  tw::Graph& g_;
  std::vector<tw::Variable> variables_;
  std::mt19937 random_{0};
};
