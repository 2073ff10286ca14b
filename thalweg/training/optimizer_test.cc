// SPDX-License-Identifier: Apache-2.0
// Optimizers against their formulas, and the nodes that they add.
#include "thalweg/training/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/training/optimizer_kinds.h"
#include "thalweg/training/test_training.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST_P(TrainingTest, GradientDescent) {
  ExpectNear(Train({.kind = "GradientDescent", .numbers = {{"learning_rate", 0.1}}}, 3),
             Expected(3, [] { return [](double w, double g, int) { return w - 0.1 * g; }; }));
}

TEST_P(TrainingTest, Momentum) {
  for (bool nesterov : {false, true}) {
    ExpectNear(Train({.kind = "Momentum",
                      .name = nesterov ? "Nesterov" : "",
                      .numbers = {{"learning_rate", 0.1}, {"momentum", 0.9}},
                      .use_nesterov = nesterov},
                     4),
               Expected(4, [&] {
                 return [nesterov, a = 0.0](double w, double g, int) mutable {
                   a = 0.9 * a + g;
                   return w - 0.1 * (nesterov ? g + 0.9 * a : a);
                 };
               }));
  }
}

TEST_P(TrainingTest, Adagrad) {
  ExpectNear(Train({.kind = "Adagrad", .numbers = {{"learning_rate", 0.5}}}, 4), Expected(4, [] {
               return [a = 0.1](double w, double g, int) mutable {
                 a += g * g;
                 return w - 0.5 * g / std::sqrt(a);
               };
             }));
}

TEST_P(TrainingTest, Adadelta) {
  ExpectNear(Train({.kind = "Adadelta", .numbers = {{"learning_rate", 1.0}}}, 4), Expected(4, [] {
               return [a = 0.0, d = 0.0](double w, double g, int) mutable {
                 a = 0.95 * a + 0.05 * g * g;
                 const double step = g * std::sqrt(d + 1e-8) / std::sqrt(a + 1e-8);
                 d = 0.95 * d + 0.05 * step * step;
                 return w - step;
               };
             }));
}

TEST_P(TrainingTest, RMSProp) {
  ExpectNear(Train({.kind = "RMSProp", .numbers = {{"learning_rate", 0.1}, {"momentum", 0.5}}}, 4),
             Expected(4, [] {
               return [ms = 1.0, m = 0.0](double w, double g, int) mutable {
                 ms = 0.9 * ms + 0.1 * g * g;
                 m = 0.5 * m + 0.1 * g / std::sqrt(ms + 1e-10);
                 return w - m;
               };
             }));
}

TEST_P(TrainingTest, Adam) {
  ExpectNear(Train({.kind = "Adam", .numbers = {{"learning_rate", 0.1}}}, 4), Expected(4, [] {
               return [m = 0.0, v = 0.0](double w, double g, int t) mutable {
                 m = 0.9 * m + 0.1 * g;
                 v = 0.999 * v + 0.001 * g * g;
                 const double rate =
                     0.1 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
                 return w - rate * m / (std::sqrt(v) + 1e-8);
               };
             }));
}

TEST_P(TrainingTest, WrongConfigurationsAreNamed) {
  EXPECT_NE(
      Optimizer::Create({.kind = "Magic"}).status().message().find("there are GradientDescent"),
      std::string_view::npos);
  EXPECT_NE(Optimizer::Create({.kind = "Adam", .numbers = {{"momentum", 1}}})
                .status()
                .message()
                .find("it has"),
            std::string_view::npos);
  EXPECT_FALSE(Optimizer::Create({.kind = "Adam", .tensors = {{"beta1", Output()}}}).ok());
  Optimizer sgd = *Optimizer::Create({.kind = "GradientDescent"});
  EXPECT_FALSE(sgd.ComputeGradients(graph_.get(), loss_, {loss_}).ok());
  EXPECT_FALSE(
      sgd.ApplyGradients(graph_.get(), {{GradientValue(), w_.handle}}, Output(), "none").ok());
}

TEST_P(TrainingTest, WhatHasNoKernelIsNoConfiguration) {
  EXPECT_EQ(Optimizer::Create({.kind = "Adagrad", .use_nesterov = true}).status().message(),
            "Adagrad has no Nesterov form");
  Optimizer sgd = *Optimizer::Create({.kind = "GradientDescent"});
  EXPECT_EQ(sgd.ComputeGradients(graph_.get(), loss_, {}).status().message(),
            "no variables to optimize");
  GraphBuilder b(graph_.get());
  const Output wide = b.Const(Tensor::Vector<double>({1, 1}));
  EXPECT_THAT(std::string(sgd.ApplyGradients(graph_.get(), {{{wide, {}, {}}, w_.handle}}, {}, "s")
                              .status()
                              .message()),
              HasSubstr("the gradient of variable 'w' has type float64, expected float32"));
}

TEST_P(TrainingTest, SlotsAreNamedAsTensorFlowNamesThemAndMadeOnce) {
  Optimizer adam = *Optimizer::Create({.kind = "Adam"});
  const auto gradients = *adam.ComputeGradients(graph_.get(), loss_, {w_.handle});
  ASSERT_TRUE(adam.ApplyGradients(graph_.get(), gradients, {}, "first").ok());
  std::vector<std::string> names, slots;
  for (const SlotVariable& made : adam.created()) {
    names.push_back(made.nodes.handle.node->name());
    slots.push_back(made.slot);
  }
  EXPECT_THAT(names, testing::ElementsAre("w/Adam", "w/Adam_1", "beta1_power", "beta2_power"));
  EXPECT_THAT(slots, testing::ElementsAre("m", "v", "beta1_power", "beta2_power"));
  ASSERT_TRUE(adam.ApplyGradients(graph_.get(), gradients, {}, "second").ok());
  EXPECT_EQ(adam.created().size(), 4u) << "a second step shares them";
  EXPECT_EQ(adam.created()[0].primary, w_.handle);
  EXPECT_EQ(adam.created()[2].primary.node, nullptr);
}

// "momentum" is a slot and a number: the slot's name is as get_slot wants it all the same.
TEST_P(TrainingTest, ASlotMayHaveTheNameOfANumber) {
  Optimizer rms = *Optimizer::Create({.kind = "CenteredRMSProp"});
  const auto gradients = *rms.ComputeGradients(graph_.get(), loss_, {w_.handle});
  ASSERT_TRUE(rms.ApplyGradients(graph_.get(), gradients, {}, "step").ok());
  std::vector<std::string> slots;
  for (const SlotVariable& made : rms.created()) slots.push_back(made.slot);
  EXPECT_THAT(slots, testing::ElementsAre("rms", "mg", "momentum"));
}

TEST_P(TrainingTest, ASlotLiesBesideItsVariable) {
  Optimizer momentum = *Optimizer::Create({.kind = "Momentum", .name = "Speed"});
  const auto gradients = *momentum.ComputeGradients(graph_.get(), loss_, {w_.handle});
  Node* const step = *momentum.ApplyGradients(graph_.get(), gradients, {}, "step");
  const VariableNodes& slot = momentum.created()[0].nodes;
  EXPECT_EQ(slot.handle.node->name(), "w/Speed");
  EXPECT_EQ(*slot.handle.node->Attr<std::vector<std::string>>("_class"),
            std::vector<std::string>{"loc:@w"});
  EXPECT_EQ(slot.is_resource(), GetParam());
  EXPECT_EQ(step->op_name(), "NoOp");
  ASSERT_EQ(step->control_inputs().size(), 1u);
  EXPECT_EQ(step->control_inputs()[0]->op_name(),
            GetParam() ? "ResourceApplyMomentum" : "ApplyMomentum");
}

TEST_P(TrainingTest, TheGlobalStepFollowsTheUpdates) {
  GraphBuilder b(graph_.get());
  const VariableNodes counter =
      *AddVariable(b, "global_step", b.ScalarConst(DType::kInt64, 41), GetParam());
  Optimizer sgd = *Optimizer::Create({.kind = "GradientDescent"});
  const auto gradients = *sgd.ComputeGradients(graph_.get(), loss_, {w_.handle});
  Node* const step = *sgd.ApplyGradients(graph_.get(), gradients, counter.handle, "train");
  session_ = *MakeLocalSession(environment_, graph_);
  Run({w_.initializer->name(), counter.initializer->name()});
  Run({step->name()});
  const auto out = session_->Run({}, {counter.value.ToString()});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0].scalar<int64_t>(), 42);
  EXPECT_NE(Read()[1], 5.0F);
}

// A schedule counts over the number, and is cast where the variable has another type.
TEST_P(TrainingTest, AHyperParameterMayBeComputedByTheGraph) {
  GraphBuilder b(graph_.get());
  const Output rate = b.ScalarConst(DType::kDouble, 0.25);
  OptimizerConfig config{.kind = "GradientDescent", .numbers = {{"learning_rate", 100}}};
  config.tensors["learning_rate"] = rate;
  ExpectNear(Train(config, 2),
             Expected(2, [] { return [](double w, double g, int) { return w - 0.25 * g; }; }));
}

TEST_P(TrainingTest, AVariableOfNoGradientIsLeftAlone) {
  GraphBuilder b(graph_.get());
  const VariableNodes idle =
      *AddVariable(b, "idle", b.Const(Tensor::Vector<float>({7, 7})), GetParam());
  Optimizer sgd = *Optimizer::Create({.kind = "GradientDescent"});
  const auto gradients = *sgd.ComputeGradients(graph_.get(), loss_, {w_.handle, idle.handle});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_FALSE(gradients[1].gradient.present());
  EXPECT_EQ(gradients[1].variable, idle.handle);
  Node* const step = *sgd.ApplyGradients(graph_.get(), gradients, {}, "train");
  EXPECT_EQ(step->control_inputs().size(), 1u);
}

// Every row of the table can be asked for what it names.
TEST(OptimizerKindsTest, EveryArgumentIsASlotAPowerOrANumberWithADefault) {
  for (const OptimizerKind& kind : OptimizerKinds()) {
    SCOPED_TRACE(kind.kind);
    const auto is_number = [&](std::string_view name) {
      return std::any_of(kind.numbers.begin(), kind.numbers.end(),
                         [&](const HyperParameter& row) { return row.name == name; });
    };
    for (const std::string_view name : kind.arguments) {
      const bool is_slot =
          std::any_of(kind.slots.begin(), kind.slots.end(),
                      [&](const SlotKind& slot) { return StrCat(slot.name, "_slot") == name; });
      const bool is_power = name == "beta1_power" || name == "beta2_power";
      EXPECT_TRUE(name == "var" || name == "grad" || is_slot || is_power || is_number(name))
          << name;
    }
    for (const SlotKind& slot : kind.slots) {
      EXPECT_TRUE(slot.initial == "0" || slot.initial == "1" || is_number(slot.initial))
          << slot.initial;
    }
    EXPECT_TRUE(is_number("learning_rate"));
    EXPECT_TRUE(Optimizer::Create({.kind = std::string(kind.kind)}).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Variables, TrainingTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

}  // namespace
}  // namespace thalweg
