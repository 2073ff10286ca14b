// SPDX-License-Identifier: Apache-2.0
// TrainingTest: one variable of each kind, a loss, and steps of an optimizer over a session.
//
//   TEST_P(TrainingTest, Descends) {
//     EXPECT_LT(Train({.kind = "GradientDescent"}, 3)[1], 5);
//   }
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/testing/graph_session.h"
#include "thalweg/training/optimizer.h"

namespace thalweg {

// Minimizes (w - 2)^2 from w = [1, 5]; the gradient is 2 (w - 2).
class TrainingTest : public testing::TestWithParam<bool> {
 protected:
  TrainingTest() {
    environment_ = local_.environment;
    graph_ = local_.graph;
    GraphBuilder b(graph_.get());
    w_ = *AddVariable(b, "w", b.Const(Tensor::Vector<float>({1, 5})), GetParam());
    const Output off = b.Op("Sub", {w_.value, b.ScalarConst(DType::kFloat, 2)});
    loss_ = b.Op("Sum", {b.Op("Mul", {off, off}), b.Const(std::vector<int32_t>{0})});
    EXPECT_TRUE(b.ok()) << b.status().ToString();
  }

  // w after `steps` steps.
  std::vector<float> Train(const OptimizerConfig& config, int steps) {
    Result<Optimizer> optimizer = Optimizer::Create(config);
    EXPECT_TRUE(optimizer.ok()) << optimizer.status().ToString();
    const auto gradients = optimizer->ComputeGradients(graph_.get(), loss_, {w_.handle});
    EXPECT_TRUE(gradients.ok()) << gradients.status().ToString();
    if (!gradients.ok()) return {};
    const auto step = optimizer->ApplyGradients(graph_.get(), *gradients, Output(), "train");
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    if (!step.ok()) return {};
    session_ = *MakeLocalSession(environment_, graph_);
    std::vector<std::string> initializers = {w_.initializer->name()};
    for (const SlotVariable& slot : optimizer->created())
      initializers.push_back(slot.nodes.initializer->name());
    Run(initializers);
    for (int i = 0; i < steps; ++i) Run({(*step)->name()});
    return Read();
  }
  void Run(const std::vector<std::string>& targets) {
    const Status status = session_->Run(RunOptions(), {}, {}, targets, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  std::vector<float> Read() {
    std::vector<Tensor> out;
    const std::string fetch[] = {w_.value.ToString()};
    const Status status = session_->Run(RunOptions(), {}, fetch, {}, &out);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return {};
    return {out[0].data<float>(), out[0].data<float>() + 2};
  }
  // The same with `update(w, gradient)` in double precision.
  template <class F>
  static std::vector<float> Expected(int steps, F&& update) {
    std::vector<float> result;
    for (double w : {1.0, 5.0}) {
      auto one = update();
      for (int i = 0; i < steps; ++i) w = one(w, 2 * (w - 2), i + 1);
      result.push_back(static_cast<float>(w));
    }
    return result;
  }
  static void ExpectNear(const std::vector<float>& got, const std::vector<float>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i]) + 1e-6);
  }

  GraphSession local_;
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Graph> graph_;
  VariableNodes w_;
  Output loss_;
  std::unique_ptr<Session> session_;
};

}  // namespace thalweg
