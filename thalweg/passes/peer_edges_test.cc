// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/peer_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/kernel/peer_copies.h"
#include "thalweg/kernel/test_device.h"
#include "thalweg/passes/place_copies.h"
#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NoKernel : public Kernel {
 public:
  Status Compute(Context&) override { return OkStatus(); }
};

class CardDevice : public NamedDevice, public PeerCopies {
 public:
  explicit CardDevice(std::string_view name) : NamedDevice(name, 1, false) {}
  bool Reaches(const Device& other) const override { return &other == peer; }
  Result<Tensor> CopyFromPeer(const Tensor& tensor) override { return tensor; }
  const Device* peer = nullptr;
};

// x on card 0, then what a test puts on card 1.
class PeerEdgesTest : public PassTest {
 protected:
  PeerEdgesTest() {
    for (const char* name : {"_CopyToHost", "_CopyFromHost", "_CopyFromPeer"}) {
      OpDef def;
      def.name = name;
      def.inputs.push_back({.name = "tensor", .type_attr = "T"});
      def.outputs.push_back({.name = "copy", .type_attr = "T"});
      def.attrs = {{.name = "T", .kind = AttrValue::Kind::kType}};
      CHECK(ops->Define(std::move(def), nullptr, nullptr).ok());
    }
    for (const char* op : {"Neg", "Add", "Abs"}) kernels.Add<NoKernel>(op, "NPU");
    kernels.Add<NoKernel>("Shape", "NPU").HostMemory({"output"});
    kernels.Add<NoKernel>("Reshape", "NPU").HostMemory({"shape"});
    second.peer = &first;
  }
  // Nodes whose name begins with "b" are on the second device. The operations of both parts.
  std::vector<std::string> Placed(std::vector<Output> feeds, std::vector<Output> fetches) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    const StepGraph step =
        *Prune(*graph, {.feeds = std::move(feeds), .fetches = std::move(fetches)});
    std::vector<int> device_of;
    for (const Node* node : step.graph->Nodes())
      device_of.push_back(node->name()[0] == 'b' ? 1 : 0);
    const auto parts = *PartitionByDevice(step, device_of, devices);
    peers = *FindPeerEdges(parts, devices, kernels);
    std::vector<std::string> ops_of_parts;
    for (const StepPartition& part : parts) {
      for (std::string& op : Made(PlaceCopies(part.step, *devices[part.device], kernels, peers))) {
        ops_of_parts.push_back(std::move(op));
      }
    }
    return ops_of_parts;
  }

  KernelRegistry kernels;
  CardDevice first{"/job:a/replica:0/task:0/device:NPU:0"};
  CardDevice second{"/job:a/replica:0/task:0/device:NPU:1"};
  std::vector<Device*> devices = {&first, &second};
  PeerEdges peers;
};

TEST_F(PeerEdgesTest, AValueOfTheOnesMemoryForTheOthersPassesByTheHost) {
  const Output x = Placeholder("x");
  const Output y = b.Op("Neg", {x}, {}, "y");
  const Output z = b.Op("Add", {y, y}, {}, "b");
  EXPECT_THAT(Placed({x}, {z}), ElementsAre("_CopyFromHost", "Neg", "_Send", "_Recv",
                                            "_CopyFromPeer", "Add", "_CopyToHost"));
  EXPECT_EQ(peers.size(), 1u);
  EXPECT_EQ(result.graph->FindNode("b")->input(1).ToString(), "y/recv/from_peer");
  const std::string name = *result.graph->FindNode("y/recv")->Attr<std::string>("tensor_name");
  EXPECT_EQ(name, peers.begin()->second);
  EXPECT_THAT(name, ::testing::HasSubstr(";")) << "another task could ask for it";
}

TEST_F(PeerEdgesTest, OneWayIsNotTheOther) {
  const Output x = Placeholder("x");
  const Output y = b.Op("Neg", {x}, {}, "b");
  const Output z = b.Op("Abs", {y}, {}, "z");
  EXPECT_THAT(Placed({x}, {z}),
              ElementsAre("_Recv", "_CopyFromHost", "Abs", "_CopyToHost",  // of the first
                          "_CopyFromHost", "Neg", "_CopyToHost", "_Send"));
  EXPECT_THAT(peers, IsEmpty());
}

TEST_F(PeerEdgesTest, WhatIsMadeOrReadOnTheHostGoesByTheHost) {
  const Output x = Placeholder("x");
  const Output shape = b.Op("Shape", {b.Op("Neg", {x}, {}, "y")}, {}, "shape");
  const Output z = b.Op("Reshape", {Placeholder("w"), shape}, {}, "b");
  EXPECT_THAT(Placed({x, {graph->FindNode("w"), 0}}, {z}),
              ElementsAre("_CopyFromHost", "Neg", "Shape", "_Send", "_Recv", "_CopyFromHost",
                          "Reshape", "_CopyToHost"));
  EXPECT_THAT(peers, IsEmpty());
}

}  // namespace
}  // namespace thalweg
