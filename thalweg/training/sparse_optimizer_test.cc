// SPDX-License-Identifier: Apache-2.0
// Optimizers given the sparse gradient of a gather, against the same gradient as a dense tensor.
#include <gtest/gtest.h>

#include "thalweg/testing/graph_session.h"
#include "thalweg/training/optimizer.h"

namespace thalweg {
namespace {

constexpr int64_t kRows = 4, kColumns = 2;

class SparseTrainingTest : public testing::TestWithParam<bool> {
 protected:
  SparseTrainingTest() {
    environment_ = local_.environment;
    graph_ = local_.graph;
  }

  VariableNodes MakeVariable(const char* name) {
    GraphBuilder b(graph_.get());
    const std::vector<float> start = {1, -2, 3, 0.5f, -1, 4, 0.25f, 2};
    const Tensor value = Tensor::Of<float>(start, Shape{kRows, kColumns});
    return *AddVariable(b, name, b.Const(value), GetParam());
  }

  // The gradient of the sum of the squares of rows 1, 1 and 3.
  GradientValue GradientOf(const Optimizer& optimizer, const VariableNodes& variable) {
    GraphBuilder b(graph_.get());
    const Output rows = b.Const(std::vector<int32_t>{1, 1, 3});
    const Output taken =
        GetParam() ? b.Op("ResourceGather", {variable.handle, rows}, {{"dtype", DType::kFloat}})
                   : b.Op("Gather", {variable.handle, rows});
    const Output loss = b.Op("Sum", {b.Op("Square", {taken}), b.Const(std::vector<int32_t>{0, 1})});
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    const auto gradients = optimizer.ComputeGradients(graph_.get(), loss, {variable.handle});
    EXPECT_TRUE(gradients.ok()) << gradients.status().ToString();
    return gradients.ok() ? (*gradients)[0].gradient : GradientValue();
  }

  // Adds a step; the initializers of what it needs go to `initializers`.
  std::string AddStep(Optimizer& optimizer, const VariableNodes& variable,
                      const GradientValue& gradient, const char* name,
                      std::vector<std::string>* initializers) {
    const auto step =
        optimizer.ApplyGradients(graph_.get(), {{gradient, variable.handle}}, {}, name);
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    initializers->push_back(variable.initializer->name());
    for (const SlotVariable& slot : optimizer.created()) {
      initializers->push_back(slot.nodes.initializer->name());
    }
    return step.ok() ? (*step)->name() : "";
  }

  GraphSession local_;
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Graph> graph_;
};

TEST_P(SparseTrainingTest, DoesWhatTheDenseGradientDoes) {
  for (const char* kind :
       {"GradientDescent", "Momentum", "Adagrad", "Adadelta", "RMSProp", "CenteredRMSProp", "Adam",
        "Ftrl", "FtrlV2", "ProximalGradientDescent", "ProximalAdagrad"}) {
    SCOPED_TRACE(kind);
    Optimizer sparse = *Optimizer::Create({.kind = kind, .numbers = {{"learning_rate", 0.1}}});
    Optimizer dense = *Optimizer::Create({.kind = kind, .numbers = {{"learning_rate", 0.1}}});
    const VariableNodes by_row = MakeVariable("by_row"), whole = MakeVariable("whole");
    const GradientValue gradient = GradientOf(sparse, by_row), other = GradientOf(dense, whole);
    ASSERT_TRUE(gradient.is_sparse() && other.is_sparse());
    GraphBuilder b(graph_.get());
    const GradientValue full{Densify(b, other), {}, {}};
    std::vector<std::string> initializers;
    const std::string steps[] = {AddStep(sparse, by_row, gradient, "sparse", &initializers),
                                 AddStep(dense, whole, full, "dense", &initializers)};
    const auto session = *MakeLocalSession(environment_, graph_);
    Status status = session->Run(RunOptions(), {}, {}, initializers, nullptr);
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (int i = 0; i < 3; ++i) {
      status = session->Run(RunOptions(), {}, {}, steps, nullptr);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    std::vector<Tensor> out;
    const std::string fetches[] = {by_row.value.ToString(), whole.value.ToString()};
    status = session->Run(RunOptions(), {}, fetches, {}, &out);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const float* got = out[0].data<float>();
    const float* expected = out[1].data<float>();
    const float start[] = {1, -2, 3, 0.5f, -1, 4, 0.25f, 2};
    for (int64_t i : {0, 1, 4, 5}) EXPECT_EQ(got[i], start[i]) << i;
    for (int64_t i : {2, 3, 6, 7}) {
      EXPECT_FLOAT_EQ(got[i], expected[i]) << i;
      EXPECT_NE(got[i], start[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ReferenceAndResource, SparseTrainingTest, testing::Bool());

}  // namespace
}  // namespace thalweg
