// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/resources/variable.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/op_case.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

TEST(AssignTest, AddsAndSubtractsInEveryNumberType) {
  for (const char* op : {"AssignAdd", "AssignAddVariableOp"}) {
    OpCase(op)
        .Reference([](auto& r) {
          r.out = {r.in[0]};
          for (int64_t i = 0; i < r.in[0].size(); ++i) r.out[0][i] += r.in[1][i];
        })
        .Try({In({7, 31}), In({7, 31})})
        .Try({In({}), In({})})
        .Bad({In({2}), In({3})}, {}, Code::kInvalidArgument, "")
        .Run();
  }
  for (const char* op : {"AssignSub", "AssignSubVariableOp"}) {
    OpCase(op)
        .Reference([](auto& r) {
          r.out = {r.in[0]};
          for (int64_t i = 0; i < r.in[0].size(); ++i) r.out[0][i] -= r.in[1][i];
        })
        .Try({In({7, 31}).Range(5, 9), In({7, 31}).Range(0, 4)})  // uint64 does not wrap
        .Run();
  }
}

TEST(AssignTest, ReplacesTheValue) {
  for (const char* op : {"Assign", "AssignVariableOp"}) {
    const char* attr = std::string_view(op) == "Assign" ? "T" : "dtype";
    OpCase(op)
        .Types({{attr, DType::kFloat}})
        .Types({{attr, DType::kBool}})
        .Types({{attr, DType::kComplex128}})
        .Reference([](auto& r) { r.out = {r.in[1]}; })
        .Try({In({3, 4}), In({3, 4})})
        .Bad({In({2}), In({3})}, {{"validate_shape", true}}, Code::kInvalidArgument, "")
        .Trivial("the value is passed on")
        .Run();
  }
}

class AssignBuffersTest : public testing::Test {
 protected:
  AssignBuffersTest()
      : graph_(AllRegistries().ops),
        b_(&graph_),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {
    variable_ = b_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", Shape{1000}}}, "v");
    fed_ = b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape{1000}}});
    assign_ = b_.OpNode("Assign", {variable_, fed_});
  }
  // Without a second handle, as a list in braces would make one.
  Feeds Feed(Tensor tensor) {
    Feeds feeds;
    feeds.emplace_back(fed_, std::move(tensor));
    return feeds;
  }
  Tensor Value() { return runner_.resources().Lookup<Variable>("", "v").value()->ReadOrEmpty(); }
  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  GraphRunner runner_;
  Output variable_, fed_;
  Node* assign_ = nullptr;
};

TEST_F(AssignBuffersTest, TakesOrCopies) {
  Tensor mine = *Tensor::Allocate(machine_.device.allocator(), DType::kFloat, Shape{1000});
  std::fill_n(mine.mutable_data<float>(), 1000, 1.0f);
  const float* data = mine.data<float>();
  // Somebody else holds the buffer: copied.
  ASSERT_TRUE(runner_.Run({{fed_, mine}}, {}, {assign_}).ok());
  EXPECT_NE(Value().data<float>(), data);
  // Nobody else: taken over.
  runner_.set_take_inputs(true);
  ASSERT_TRUE(runner_.Run(Feed(std::move(mine)), {}, {assign_}).ok());
  EXPECT_EQ(Value().data<float>(), data);
  // Memory of somebody outside is never kept.
  std::vector<float> outside(1000, 2.0f);
  Tensor lent = Tensor::FromBuffer(DType::kFloat, Shape{1000}, outside.data(), [] {});
  ASSERT_TRUE(runner_.Run(Feed(std::move(lent)), {}, {assign_}).ok());
  EXPECT_NE(Value().data<float>(), outside.data());
  EXPECT_EQ(Value().data<float>()[999], 2.0f);
}

TEST_F(AssignBuffersTest, AnUpdateWritesInPlaceUnlessAReaderHoldsTheBuffer) {
  const Output ones = b_.Const([] {
    Tensor t = *Tensor::AllocateHost(DType::kFloat, Shape{1000});
    std::fill_n(t.mutable_data<float>(), 1000, 1.0f);
    return t;
  }());
  Node* add = b_.OpNode("AssignAdd", {variable_, ones});
  const Output read = b_.Op("Identity", {variable_});
  ASSERT_TRUE(runner_.Run({}, {}, {b_.OpNode("Assign", {variable_, ones})}).ok());
  const float* before = Value().data<float>();
  ASSERT_TRUE(runner_.Run({}, {}, {add}).ok());
  EXPECT_EQ(Value().data<float>(), before);
  const std::vector<Tensor> held = *runner_.Run({}, {read});
  ASSERT_TRUE(runner_.Run({}, {}, {add}).ok());
  EXPECT_NE(Value().data<float>(), before);
  EXPECT_EQ(held[0].data<float>()[0], 2.0f);
  EXPECT_EQ(Value().data<float>()[0], 3.0f);
}

}  // namespace
}  // namespace thalweg
