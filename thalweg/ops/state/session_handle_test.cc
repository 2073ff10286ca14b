// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

class SessionHandleTest : public testing::Test {
 protected:
  SessionHandleTest()
      : graph_(AllRegistries().ops),
        b_(&graph_),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {
    name_ = b_.Op("Placeholder", {}, {{"dtype", DType::kString}, {"shape", Shape()}});
    kept_ = b_.Op("GetSessionTensor", {name_}, {{"dtype", DType::kFloat}});
    delete_ = b_.OpNode("DeleteSessionTensor", {name_});
  }
  // The handle of a new tensor.
  Tensor Keep(std::initializer_list<float> values) {
    const Output handle =
        b_.Op("GetSessionHandle", {b_.Const(Tensor::Vector<float>(values))}, {}, "keep");
    EXPECT_EQ(handle.shape(), PartialShape(Shape()));
    Result<std::vector<Tensor>> got = runner_.Run({}, {handle});
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return got.ok() ? (*got)[0] : Tensor();
  }

  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  GraphRunner runner_;
  Output name_, kept_;
  Node* delete_ = nullptr;
};

TEST_F(SessionHandleTest, ATensorIsKeptUntilItIsDeleted) {
  const Tensor first = Keep({1, 2}), second = Keep({3});
  EXPECT_NE(first.scalar<std::string>(), second.scalar<std::string>());
  EXPECT_EQ(first.scalar<std::string>().find("keep;"), 0u);
  for (int i = 0; i < 2; ++i) {
    const auto got = runner_.Run({{name_, first}}, {kept_});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ((*got)[0].data<float>()[1], 2.0f);
  }
  ASSERT_TRUE(runner_.Run({{name_, first}}, {}, {delete_}).ok());
  const Status gone = runner_.Run({{name_, first}}, {kept_}).status();
  EXPECT_EQ(gone.code(), Code::kInvalidArgument);
  EXPECT_NE(gone.ToString().find(first.scalar<std::string>()), std::string::npos);
  EXPECT_EQ(runner_.Run({{name_, first}}, {}, {delete_}).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(runner_.Run({{name_, second}}, {kept_}).ok());
}

TEST_F(SessionHandleTest, AnotherTypeIsRefused) {
  const Output wrong = b_.Op("GetSessionTensor", {name_}, {{"dtype", DType::kInt32}});
  EXPECT_EQ(runner_.Run({{name_, Keep({1})}}, {wrong}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(runner_.Run({{name_, Tensor::Scalar(std::string("none"))}}, {kept_}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
