// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/place_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/test_device.h"
#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class Nothing : public Kernel {
 public:
  Status Compute(Context&) override { return OkStatus(); }
};

// Its copies are marked by their first element.
class FarDevice : public NamedDevice {
 public:
  FarDevice() : NamedDevice("/job:a/replica:0/task:0/device:NPU:0", 1, false) {}
  void CopyFromHost(const Tensor& tensor, CopyDone done) override {
    ++copies;
    done(*Tensor::Vector<float>({-1}).Reshaped(tensor.shape()));
  }
  int copies = 0;
};

void DefineCopy(OpRegistry& ops, const char* name) {
  OpDef def;
  def.name = name;
  def.inputs.push_back({.name = "tensor", .type_attr = "T"});
  def.outputs.push_back({.name = "copy", .type_attr = "T"});
  def.attrs = {{.name = "T", .kind = AttrValue::Kind::kType}};
  CHECK(ops.Define(std::move(def), nullptr, nullptr).ok());
}

class PlaceCopiesTest : public PassTest {
 protected:
  PlaceCopiesTest() {
    for (const char* name : {"_CopyToHost", "_CopyFromHost"}) DefineCopy(*ops, name);
    kernels.Add<Nothing>("Neg", "NPU");
    kernels.Add<Nothing>("Add", "NPU");
    kernels.Add<Nothing>("Reshape", "NPU").HostMemory({"shape"});
  }
  // With every Placeholder fed.
  StepGraph Fed(std::vector<Output> feeds, std::vector<Output> fetches) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    return *Prune(*graph, {.feeds = std::move(feeds), .fetches = std::move(fetches)});
  }
  std::vector<std::string> Placed(const StepGraph& step) {
    return Made(PlaceCopies(step, device, kernels));
  }
  std::string InputOf(const char* node, int i) {
    return result.graph->FindNode(node)->input(i).ToString();
  }

  KernelRegistry kernels;
  FarDevice device;
};

TEST_F(PlaceCopiesTest, OneCopyForAFeedWhateverItsReaders) {
  const Output x = Placeholder("x");
  const Output y = b.Op("Neg", {x}, {}, "y");
  const Output z = b.Op("Add", {x, y}, {}, "z");
  EXPECT_THAT(Placed(Fed({x}, {z})), ElementsAre("_CopyFromHost", "Neg", "Add", "_CopyToHost"));
  EXPECT_EQ(InputOf("y", 0), "x/to_device");
  EXPECT_EQ(InputOf("z", 0), "x/to_device");
  EXPECT_EQ(result.fetches[0].ToString(), "z/to_host");
  EXPECT_EQ(result.Origin(*result.graph->FindNode("y")), graph->FindNode("y"));
}

TEST_F(PlaceCopiesTest, AConstantIsCopiedOnceAndNotInSteps) {
  const Output c = b.Const(std::vector<float>{1});
  const Output y = b.Op("Add", {c, c}, {}, "y");
  EXPECT_THAT(Placed(Fed({}, {y, c})), ElementsAre("Add", "_CopyToHost"));
  EXPECT_EQ(device.copies, 1);
  EXPECT_EQ(result.fetches[1].ToString(), "Const");
  const Node* const there = result.graph->FindNode("Const/to_device");
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there->Attr<Tensor>("value")->scalar<float>(), -1);
  EXPECT_EQ(InputOf("y", 1), "Const/to_device");
}

TEST_F(PlaceCopiesTest, WhatTheKernelReadsOnTheHostStaysThere) {
  const Output x = Placeholder("x");
  const Output shape = b.Const(std::vector<int32_t>{1});
  const Output y = b.Op("Reshape", {b.Op("Neg", {x}), shape}, {}, "y");
  EXPECT_THAT(Placed(Fed({x}, {y})), ElementsAre("_CopyFromHost", "Neg", "Reshape", "_CopyToHost"));
  EXPECT_EQ(InputOf("y", 1), "Const");
}

TEST_F(PlaceCopiesTest, APredicateComesToTheHost) {
  const Output x = Placeholder("x");
  const Output p = b.Op("Placeholder", {}, {{"dtype", DType::kBool}}, "p");
  kernels.Add<Nothing>("LogicalNot", "NPU");
  Node* const sides = b.OpNode("Switch", {x, b.Op("LogicalNot", {p})}, {}, "s");
  const Output y = b.Op("Merge", {{sides, 0}, {sides, 1}}, {}, "m");
  EXPECT_THAT(Placed(Fed({x, p}, {y})),
              UnorderedElementsAre("_CopyFromHost", "LogicalNot", "_CopyToHost", "_CopyFromHost",
                                   "Switch", "Merge", "_CopyToHost"));
  EXPECT_EQ(InputOf("s", 0), "x/to_device");
  EXPECT_EQ(InputOf("s", 1), "LogicalNot/to_host");
}

TEST_F(PlaceCopiesTest, WhereTheHostAddressesTheMemoryTheStepStaysAsItIs) {
  NamedDevice near("/job:a/replica:0/task:0/device:NPU:0", 1);
  const Output x = Placeholder("x");
  const StepGraph step = Fed({x}, {b.Op("Neg", {x})});
  const Result<StepGraph> placed = PlaceCopies(step, near, kernels);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->graph, step.graph);
}

}  // namespace
}  // namespace thalweg
