// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

class RefSelectTest : public testing::Test {
 protected:
  RefSelectTest()
      : graph_(AllRegistries().ops), b_(&graph_), machine_(compute::BestIsaLevel(), false) {}

  Output NewVariable() {
    return b_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", Shape{2}}});
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
};

TEST_F(RefSelectTest, AssignsToTheVariableThatTheIndexNames) {
  const Output first = NewVariable();
  const Output second = NewVariable();
  const Output index = b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  const Output chosen = b_.Op("RefIdentity", {b_.Op("RefSelect", {index, first, second})});
  const Output assigned = b_.Op("Assign", {chosen, b_.Const(Tensor::Vector<float>({3, 4}))});
  const Output value = b_.Op("Identity", {second});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  EXPECT_EQ(chosen.shape(), (PartialShape{2}));

  GraphRunner runner(*AllRegistries().kernels, machine_);
  Result<std::vector<Tensor>> ran = runner.Run({{index, Tensor::Scalar(1)}}, {}, {assigned.node});
  ASSERT_TRUE(ran.ok()) << ran.status().ToString();
  ran = runner.Run({}, {value});
  ASSERT_TRUE(ran.ok()) << ran.status().ToString();
  EXPECT_EQ((*ran)[0].data<float>()[1], 4.0f);
  EXPECT_EQ(runner.Run({{index, Tensor::Scalar(2)}}, {}, {assigned.node}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
