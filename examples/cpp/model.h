// SPDX-License-Identifier: Apache-2.0
// What the model examples share: variables, a dense layer, and a training loop that shows loss and
// throughput.
//
//   Model model(g);
//   tw::Output y = model.Dense(x, 784, 10);
//   return model.Train(loss, tw::Optimizer::Adam(1e-3), 100, 0.5, feeds, 64, "images");
//
// Ownership: the graph outlives it, and owns the nodes.
// Threads: the caller's alone.
// Errors: thrown as tw::Error.
#pragma once

#include <thalweg/ops.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

class Model {
 public:
  explicit Model(tw::Graph& g) : g_(g) {}

  // A variable of normal random values fit for a layer with that many inputs; of zeros for 0.
  tw::Output Weights(const std::vector<int64_t>& shape, int inputs) {
    int64_t size = 1;
    for (int64_t n : shape) size *= n;
    std::vector<float> values(static_cast<size_t>(size));
    std::normal_distribution<float> normal(0, inputs == 0 ? 0 : std::sqrt(2.0f / inputs));
    if (inputs != 0) std::generate(values.begin(), values.end(), [&] { return normal(random_); });
    variables_.push_back(g_.Variable("v" + std::to_string(variables_.size()),
                                     g_.Const(tw::Tensor::Of<float>(values, shape))));
    return variables_.back();
  }
  tw::Output Dense(const tw::Output& x, int inputs, int outputs) {
    return tw::ops::BiasAdd(tw::ops::MatMul(x, Weights({inputs, outputs}, inputs)),
                            Weights({outputs}, 0));
  }

  // 3x3, and what is below zero cut off; the same size.
  tw::Output Convolution(const tw::Output& x, int inputs, int outputs) {
    const tw::Output w = Weights({3, 3, inputs, outputs}, 9 * inputs);
    return tw::ops::Relu(
        tw::ops::BiasAdd(tw::ops::Conv2D(x, w, {1, 1, 1, 1}, "SAME"), Weights({outputs}, 0)));
  }
  // The largest of each 2x2; half the size.
  static tw::Output Pool(const tw::Output& x) {
    return tw::ops::MaxPool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  }
  const std::vector<tw::Variable>& variables() const { return variables_; }
  // To be run before the first step.
  std::vector<tw::Node> Initializers(const tw::Optimizer& optimizer) const {
    std::vector<tw::Node> initializers = optimizer.Initializers();
    for (const tw::Variable& v : variables_) initializers.push_back(v.initializer);
    return initializers;
  }

  // Runs `steps` steps on the feeds of each, prints ten lines on the way; `items` of `unit` a step.
  // 0 when the mean loss of the last tenth is below `wanted` times that of the first.
  int Train(const tw::Output& loss, tw::Optimizer optimizer, int steps, double wanted,
            const std::function<tw::Feeds(int)>& feeds, int items, const char* unit) {
    const tw::Node train = optimizer.Minimize(loss, variables_);
    tw::Session session = tw::Session::Create(g_).OrThrow();
    session.Run({}, {}, Initializers(optimizer)).OrThrow();

    using Clock = std::chrono::steady_clock;
    const int tenth = std::max(steps / 10, 1);
    double first = 0, last = 0, sum = 0;
    Clock::time_point since = Clock::now();
    for (int step = 1; step <= steps; ++step) {
      sum += session.Run(feeds(step), {loss}, {train}).OrThrow()[0].scalar<float>();
      if (step % tenth != 0) continue;
      const std::chrono::duration<double> took = Clock::now() - since;
      last = sum / tenth;
      if (step == tenth) first = last;
      std::printf("step %5d/%d  loss %8.4f  %10.1f %s/s\n", step, steps, last,
                  items * tenth / took.count(), unit);
      std::fflush(stdout);
      sum = 0;
      since = Clock::now();
    }
    std::printf("loss %.4f -> %.4f\n", first, last);
    return last < wanted * first ? 0 : 1;
  }

  tw::Output CrossEntropy(const tw::Output& logits, const tw::Output& labels) {
    return Mean(tw::ops::SparseSoftmaxCrossEntropyWithLogits(logits, labels).loss);
  }
  tw::Output Mean(const tw::Output& x) { return tw::ops::Mean(x, g_.Const<int32_t>({0}, {1})); }
  tw::Output Reshape(const tw::Output& x, const std::vector<int32_t>& shape) {
    return tw::ops::Reshape(
        x, g_.Const(tw::Tensor::Of<int32_t>(shape, {static_cast<int64_t>(shape.size())})));
  }

 private:
  tw::Graph& g_;
  std::vector<tw::Variable> variables_;
  std::mt19937 random_{0};
};
