// SPDX-License-Identifier: Apache-2.0
// ConstraintPlacer and PartitionByDevice.
#include "thalweg/passes/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/kernel/test_device.h"
#include "thalweg/passes/partition.h"
#include "thalweg/passes/prune.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

class Lines : public LogSink {
 public:
  void Write(LogLevel, std::string_view message) override { lines.emplace_back(message); }
  std::vector<std::string> lines;
};

Status DoNothing(Context&) { return OkStatus(); }

class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest() {
    // A GPU comes first, CPUs after it.
    for (const char* name : {"/device:GPU:0", "/device:CPU:0", "/device:CPU:1"}) {
      owned.push_back(std::make_unique<NamedDevice>(StrCat("/job:localhost/replica:0/task:0", name),
                                                    owned.size() + 7));
      devices.push_back(owned.back().get());
    }
    for (const char* op : {"Neg", "Add", "Identity", "VariableV2", "Assign", "VarHandleOp",
                           "ReadVariableOp", "NoOp", "Less"}) {
      kernels.AddFunction<DoNothing>(op, kCpu);
    }
    for (const char* op : {"Neg", "Add", "VariableV2", "Exp", "VarHandleOp"}) {
      kernels.AddFunction<DoNothing>(op, "GPU");
    }
  }
  ConstraintPlacer Placer(PlacementRule rule = PlacementRule::kSoft) {
    return ConstraintPlacer({.devices = devices,
                             .kernels = &kernels,
                             .rule = rule,
                             .logger = Logger(&log, LogLevel::kInfo)});
  }
  StepGraph Step(std::vector<Output> fetches, std::vector<Output> feeds = {}) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    return *Prune(*graph,
                  {.feeds = std::move(feeds), .fetches = std::move(fetches), .targets = {}});
  }
  // The devices of the named nodes.
  static std::vector<int> Where(const StepGraph& step, const std::vector<int>& device,
                                const std::vector<std::string>& names) {
    std::vector<int> where;
    for (const std::string& name : names) {
      const Node* node = step.graph->FindNode(name);
      where.push_back(node == nullptr ? -1 : device[node->id()]);
    }
    return where;
  }
  static int Count(const Graph& graph, std::string_view op) {
    int n = 0;
    for (const Node* node : graph.Nodes()) n += node->op_name() == op;
    return n;
  }
  Output Variable(std::string_view name) {
    return b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{}}}, name);
  }

  std::vector<std::unique_ptr<NamedDevice>> owned;
  std::vector<Device*> devices;
  KernelRegistry kernels;
  Lines log;
  std::shared_ptr<OpRegistry> ops = std::make_shared<OpRegistry>();
  std::shared_ptr<Graph> graph = std::make_shared<Graph>(ops);
  GraphBuilder b{graph.get()};
};

TEST_F(PlaceTest, TakesTheFirstDeviceWithAKernelThatMeetsTheConstraint) {
  const Output c = b.Const(Tensor::Scalar(1.0f), "c");
  const Output n = b.Op("Neg", {c}, {}, "n");
  const Output i = b.Op("Identity", {n}, {}, "i");  // no GPU kernel
  const Output far = b.WithDevice("/cpu:1").Op("Neg", {i}, {}, "far");
  const Output any = b.WithDevice("/device:CPU:*").Op("Neg", {far}, {}, "any");
  const StepGraph step = Step({any});
  ConstraintPlacer placer = Placer();
  const std::vector<int> device = *placer.Place(*graph, step);
  EXPECT_THAT(Where(step, device, {"n", "i", "far", "any"}), ElementsAre(0, 1, 2, 1));
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(PlaceTest, AVariableStandsWhereItsUpdatesCanRunAndStaysThere) {
  const Output v = Variable("v");  // alone it would be on the GPU
  b.Op("Assign", {v, b.Const(Tensor::Scalar(1.0f))}, {}, "assign");
  const Output read = b.Op("Neg", {v}, {}, "read");
  ConstraintPlacer placer = Placer();
  const StepGraph step = Step({read});
  EXPECT_THAT(Where(step, *placer.Place(*graph, step), {"v", "read"}), ElementsAre(1, 0));

  const Output w = Variable("w");
  const StepGraph first = Step({b.Op("Neg", {w})});
  EXPECT_THAT(Where(first, *placer.Place(*graph, first), {"w"}), ElementsAre(0));
  const Output late = b.Op("Assign", {w, b.Const(Tensor::Scalar(1.0f))}, {}, "late");
  const Status status = placer.Place(*graph, Step({late})).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("VariableV2 'w' keeps its state on"), HasSubstr("GPU:0")));
}

TEST_F(PlaceTest, HandlesAndClassAttributesColocate) {
  const Output h =
      b.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{}}}, "h");
  const Output r = b.Op("ReadVariableOp", {h}, {{"dtype", DType::kFloat}}, "r");
  const Output n = b.Op("Neg", {r}, {{"_class", std::vector<std::string>{"loc:@h"}}}, "n");
  const Output m = b.ColocatedWith(*n.node).Op("Exp", {n}, {}, "m");
  ConstraintPlacer placer = Placer();
  const StepGraph step = Step({n});
  EXPECT_THAT(Where(step, *placer.Place(*graph, step), {"h", "r", "n"}), ElementsAre(1, 1, 1));
  const Status status = placer.Place(*graph, Step({m})).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("Exp 'm'"), HasSubstr("ReadVariableOp 'r'"), HasSubstr("colocation")));
}

// What a device of another task can run is what that task has told.
TEST_F(PlaceTest, TasksTellTheKernelsOfTheirDevices) {
  NamedDevice here("/job:a/replica:0/task:0/device:CPU:0", 1);
  NamedDevice cpu("/job:a/replica:0/task:1/device:CPU:0", 2);
  NamedDevice npu("/job:a/replica:0/task:1/device:NPU:0", 3, /*host_addressable=*/false);
  NamedDevice poor("/job:a/replica:0/task:2/device:NPU:0", 4, /*host_addressable=*/false);
  KernelRegistry told, told_by_poor;
  for (const char* op : {"Neg", "Exp"}) told.AddFunction<DoNothing>(op, "NPU");
  told_by_poor.AddFunction<DoNothing>("Neg", "NPU");
  ConstraintPlacer placer({.devices = {&here, &cpu, &npu, &poor},
                           .kernels = &kernels,
                           .kernels_of = {&kernels, &kernels, &told, &told_by_poor},
                           .rule = PlacementRule::kStrict,
                           .logger = Logger(&log, LogLevel::kInfo)});
  const Output c = b.Const(Tensor::Scalar(1.0f), "c");
  // Another task's accelerator takes nothing that does not ask for its task.
  Output last = b.Op("Neg", {c}, {}, "own");
  last = b.WithDevice("/job:a/task:1").Op("Neg", {last}, {}, "task");
  last = b.WithDevice("/job:a/task:1").Op("Identity", {last}, {}, "cpu");
  last = b.WithDevice("/device:NPU:*").Op("Exp", {last}, {}, "kind");
  last = b.WithDevice("/job:a/task:2").Op("Neg", {last}, {}, "poor");
  const StepGraph step = Step({last});
  const Result<std::vector<int>> device = placer.Place(*graph, step);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_THAT(Where(step, *device, {"own", "task", "cpu", "kind", "poor"}),
              ElementsAre(0, 2, 1, 2, 3));
  EXPECT_THAT(placer.Explain(*graph, *last.node)->reasons,
              IsSupersetOf({std::string("CPU has kernel for it"),
                            StrCat(poor.full_name(), " has kernel for it")}));

  const Output lacks = b.WithDevice("/job:a/task:2").Op("Exp", {c}, {}, "lacks");
  EXPECT_THAT(placer.Place(*graph, Step({lacks})).status().message(),
              HasSubstr("the devices that meet it have no kernel for all of the group"));
}

TEST_F(PlaceTest, SoftPlacementMovesAndSaysSo) {
  const Output n =
      b.WithDevice("/device:GPU:7").Op("Neg", {b.Const(Tensor::Scalar(1.0f))}, {}, "n");
  const Output i = b.WithDevice("/gpu:0").Op("Identity", {n}, {}, "i");
  const StepGraph step = Step({i});
  ConstraintPlacer soft = Placer();
  EXPECT_THAT(Where(step, *soft.Place(*graph, step), {"n", "i"}), ElementsAre(0, 1));
  ASSERT_EQ(log.lines.size(), 2u);
  EXPECT_THAT(log.lines[0], AllOf(HasSubstr("Neg 'n'"), HasSubstr("no device here meets that")));
  EXPECT_THAT(log.lines[1], AllOf(HasSubstr("Identity 'i'"), HasSubstr("have no kernel")));
  ConstraintPlacer strict = Placer(PlacementRule::kStrict);
  const Status status = strict.Place(*graph, step).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("Neg 'n' asks for '/device:GPU:7'"), HasSubstr("CPU:1")));
}

TEST_F(PlaceTest, AnAcceleratorThatIsNotHereMeansTheCpuAndOneWarning) {
  devices.erase(devices.begin());  // the GPU
  const Output n = b.WithSite(graph->InternSite("train.py:7"))
                       .WithDevice("/device:GPU:1")
                       .Op("Neg", {b.Const(Tensor::Scalar(1.0f))}, {}, "n");
  const Output i = b.WithDevice("/device:TPU:0").Op("Identity", {n}, {}, "i");
  const StepGraph step = Step({i});
  ConstraintPlacer placer = Placer(PlacementRule::kAcceleratorsToCpu);
  EXPECT_TRUE(placer.Check(step).ok());
  EXPECT_THAT(Where(step, *placer.Place(*graph, step), {"n", "i"}), ElementsAre(0, 0));
  EXPECT_TRUE(placer.Place(*graph, step).ok());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_THAT(log.lines[0], AllOf(HasSubstr("Neg 'n'"), HasSubstr("train.py:7"),
                                  HasSubstr("'/device:GPU:1'"), HasSubstr("no GPU here")));
}

// Nothing runs in place of what is refused, and an explanation runs nothing.
TEST_F(PlaceTest, NoWarningBeforeARefusal) {
  devices.erase(devices.begin());  // the GPU
  const Output n = b.WithDevice("/gpu:0").Op("Neg", {b.Const(Tensor::Scalar(1.0f))}, {}, "n");
  const Output far = b.WithDevice("/job:ps/gpu:0").Op("Neg", {n}, {}, "far");
  ConstraintPlacer placer = Placer(PlacementRule::kAcceleratorsToCpu);
  EXPECT_FALSE(placer.Check(Step({far})).ok());
  EXPECT_FALSE(placer.Place(*graph, Step({far})).ok());
  EXPECT_TRUE(placer.Explain(*graph, *n.node).ok());
  EXPECT_THAT(log.lines, IsEmpty());
  EXPECT_TRUE(placer.Check(Step({n})).ok());
  EXPECT_TRUE(placer.Place(*graph, Step({n})).ok());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_THAT(log.lines[0], AllOf(HasSubstr("Neg 'n'"), HasSubstr("no GPU here")));
}

// A job, a task, a number or a kind of device that is not there is a mistake, whatever the rule.
TEST_F(PlaceTest, WhatIsNotThereIsAnError) {
  const char* const kMissing[] = {"/job:ps", "/task:3",        "/cpu:7",
                                  "/gpu:2",  "/device:GPUU:0", "/job:ps/task:3/gpu:0"};
  for (const PlacementRule rule : {PlacementRule::kStrict, PlacementRule::kAcceleratorsToCpu}) {
    for (const char* device : kMissing) {
      const Output n = b.WithDevice(device).Op("Neg", {b.Const(Tensor::Scalar(1.0f))});
      const StepGraph step = Step({n});
      ConstraintPlacer placer = Placer(rule);
      for (const Status& status : {placer.Check(step), placer.Place(*graph, step).status()}) {
        EXPECT_EQ(status.code(), Code::kInvalidArgument) << device;
        EXPECT_THAT(
            std::string(status.message()),
            AllOf(StartsWith(StrCat("Cannot assign a device for operation ", n.node->name(), ": ")),
                  HasSubstr("no device here meets that"), HasSubstr("CPU:1")));
      }
    }
  }
}

TEST_F(PlaceTest, SoftPlacementChangesNeitherJobNorTask) {
  ConstraintPlacer placer = Placer(PlacementRule::kSoft);
  const Output here =
      b.WithDevice("/job:localhost/gpu:9").Op("Neg", {b.Const(Tensor::Scalar(1.0f))});
  EXPECT_TRUE(placer.Check(Step({here})).ok());
  EXPECT_TRUE(placer.Place(*graph, Step({here})).ok());
  const Output far = b.WithDevice("/job:ps/gpu:9").Op("Neg", {here}, {}, "far");
  for (const Status& status :
       {placer.Check(Step({far})), placer.Place(*graph, Step({far})).status()}) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith("Cannot assign a device for operation far: "),
                      HasSubstr("changes neither job nor task")));
  }
}

TEST_F(PlaceTest, ContradictingConstraintsOfAGroupNameBoth) {
  const Output v = b.WithDevice("/cpu:0").Op(
      "VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{}}}, "v");
  const Output a = b.WithDevice("/cpu:1").Op("Assign", {v, b.Const(Tensor::Scalar(1.0f))}, {}, "a");
  const Status status = Placer(PlacementRule::kStrict).Place(*graph, Step({a})).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("VariableV2 'v' asks for '/cpu:0'"),
                    HasSubstr("Assign 'a' for '/cpu:1'"), HasSubstr("one device")));
}

TEST_F(PlaceTest, ExplainsTheChain) {
  const Output v = Variable("v");
  b.WithDevice("/cpu:1").Op("Assign", {v, b.Const(Tensor::Scalar(1.0f))}, {}, "a");
  const std::string why = Placer().Explain(*graph, *v.node)->Text();
  EXPECT_THAT(why,
              AllOf(HasSubstr("VariableV2 'v' -> /job:localhost/replica:0/task:0/device:CPU:1"),
                    HasSubstr("it asks for no device"),
                    HasSubstr("Assign 'a', which asks for '/cpu:1', which takes the reference "
                              "of VariableV2 'v'"),
                    HasSubstr("GPU has kernel"), HasSubstr("CPU has kernel")));
}

class PartitionTest : public PlaceTest {
 protected:
  std::vector<StepPartition> Parts(const StepGraph& step, const PartitionOptions& options = {}) {
    ConstraintPlacer placer = Placer();
    Result<std::vector<int>> device = placer.Place(*graph, step);
    EXPECT_TRUE(device.ok()) << device.status().ToString();
    Result<std::vector<StepPartition>> parts = PartitionByDevice(step, *device, devices, options);
    EXPECT_TRUE(parts.ok()) << parts.status().ToString();
    return *std::move(parts);
  }
  GraphBuilder On(int cpu) { return b.WithDevice(StrCat("/cpu:", cpu)); }
};

TEST_F(PartitionTest, OneTransferForAnyNumberOfConsumers) {
  const Output p = b.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, "p");
  const Output x = On(0).Op("Neg", {p}, {}, "x");
  std::vector<Output> sums;
  for (int i = 0; i < 3; ++i) sums.push_back(On(1).Op("Add", {x, p}, {}, StrCat("sum", i)));
  const StepGraph step = Step(sums, {p});
  const std::vector<StepPartition> parts = Parts(step);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].device, 1);
  EXPECT_EQ(Count(*parts[0].step.graph, "_Send"), 1);
  EXPECT_EQ(Count(*parts[1].step.graph, "_Recv"), 1);
  EXPECT_THAT(parts[1].fetches, ElementsAre(0, 1, 2));
  // The feed is read on both.
  EXPECT_NE(parts[0].step.feeds[0].node, nullptr);
  EXPECT_NE(parts[1].step.feeds[0].node, nullptr);
  const Node* recv = parts[1].step.graph->FindNode("x/recv");
  const Node* send = parts[0].step.graph->FindNode("x/send");
  EXPECT_EQ(*recv->Attr<std::string>("tensor_name"), *send->Attr<std::string>("tensor_name"));
  EXPECT_EQ(*recv->Attr<std::string>("send_device"), devices[1]->full_name());
  EXPECT_EQ(*recv->Attr<std::string>("recv_device"), devices[2]->full_name());
  EXPECT_EQ(*recv->Attr<int64_t>("send_device_incarnation"), 8);
}

TEST_F(PartitionTest, ControlEdgesCrossAsScalarsAndConstantsAreCopied) {
  Node* first = On(0).OpNode("NoOp", {}, {}, "first");
  const Output c = b.Const(Tensor::Scalar(1.0f), "c");
  const Output y = On(1).WithControls({first}).Op("Neg", {c}, {}, "y");
  const Output z = On(1).WithControls({first}).Op("Neg", {y}, {}, "z");
  const std::vector<StepPartition> parts = Parts(Step({z}));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(Count(*parts[0].step.graph, "_Send"), 1);
  EXPECT_EQ(Count(*parts[1].step.graph, "_Recv"), 1);
  const Node* token = parts[0].step.graph->FindNode("first/control");
  ASSERT_NE(token, nullptr);
  EXPECT_THAT(token->control_inputs(), ElementsAre(parts[0].step.graph->FindNode("first")));
  EXPECT_NE(parts[1].step.graph->FindNode("c"), nullptr);
  const Node* follower = parts[1].step.graph->FindNode("first/control");
  ASSERT_NE(follower, nullptr);
  EXPECT_EQ(follower->op_name(), "Identity");
  EXPECT_EQ(follower->input(0).node, parts[1].step.graph->FindNode("first/recv"));
  EXPECT_THAT(parts[1].step.graph->FindNode("z")->control_inputs(), ElementsAre(follower));
}

TEST_F(PartitionTest, ALoopOverTwoDevicesGetsAControlLoop) {
  GraphBuilder home = On(0);
  const Output enter = home.Op("Enter", {b.Const(Tensor::Scalar(1.0f))}, {{"frame_name", "f"}});
  Node* merge = home.OpNode("Merge", {enter, Output()});
  const Output go_on = home.Op("LoopCond", {home.Op("Less", {{merge, 0}, enter})}, {}, "go_on");
  Node* split = home.OpNode("Switch", {{merge, 0}, go_on});
  const Output there = On(1).Op("Neg", {home.Op("Identity", {{split, 1}})}, {}, "there");
  const Output next = home.Op("NextIteration", {there});
  ASSERT_TRUE(b.ok() && home.ok());
  ASSERT_TRUE(graph->SetBackEdge(merge, 1, next).ok());
  const Output exit = home.Op("Exit", {{split, 0}});
  const std::vector<StepPartition> parts = Parts(Step({exit}));
  ASSERT_EQ(parts.size(), 2u);
  const Graph& far = *parts[1].step.graph;
  for (const char* op : {"Enter", "Merge", "Switch", "NextIteration"}) EXPECT_EQ(Count(far, op), 1);
  EXPECT_EQ(*far.FindNode("control_loop/f/enter")->Attr<std::string>("frame_name"), "f");
  // The predicate comes once an iteration, started by the control loop's Merge.
  const Node* predicate = far.FindNode("control_loop/f/switch")->input(1).node;
  EXPECT_EQ(predicate->name(), "go_on/recv");
  EXPECT_THAT(predicate->control_inputs(), ElementsAre(far.FindNode("control_loop/f/merge")));
  EXPECT_EQ(Count(far, "_Recv"), 2);
  EXPECT_EQ(Count(*parts[0].step.graph, "_Recv"), 1);
}

TEST_F(PartitionTest, A5_5_FloatsGoToOtherTasksAsBfloat16) {
  for (const char* name : {"/job:other/replica:0/task:0/device:CPU:0",
                           "/job:localhost/replica:0/task:1/device:CPU:0"}) {
    owned.push_back(std::make_unique<NamedDevice>(name, owned.size() + 7));
    devices.push_back(owned.back().get());
  }
  const Output p = b.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, "p");
  const Output x = On(0).Op("Neg", {p}, {}, "x");
  const Output ints = b.Op("Placeholder", {}, {{"dtype", DType::kInt32}}, "ints");
  const Output n = On(0).Op("Neg", {ints}, {}, "n");
  std::vector<Output> fetches = {On(1).Op("Neg", {x}, {}, "near")};
  for (const char* far : {"/job:other", "/job:localhost/task:1"}) {
    GraphBuilder there = b.WithDevice(StrCat(far, "/cpu:0"));
    fetches.push_back(there.Op("Neg", {x}));
    fetches.push_back(there.WithControls({x.node}).Op("Neg", {n}));
  }
  const StepGraph step = Step(fetches, {p, ints});
  EXPECT_EQ(Count(*Parts(step)[0].step.graph, "Cast"), 0);
  const std::vector<StepPartition> parts = Parts(step, {.bfloat16_transfers = true});
  ASSERT_EQ(parts.size(), 4u);
  const Graph& home = *parts[0].step.graph;
  EXPECT_EQ(Count(home, "Cast"), 1);
  EXPECT_EQ(home.FindNode("x/to_bfloat16")->input(0).node, home.FindNode("x"));
  EXPECT_EQ(Count(home, "_Send"), 7);  // x three times, n and the control edge twice
  EXPECT_EQ(Count(*parts[1].step.graph, "Cast"), 0);
  for (const size_t far : {2, 3}) {
    const Graph& there = *parts[far].step.graph;
    EXPECT_EQ(Count(there, "Cast"), 1);
    const Node* back = there.FindNode("x/from_bfloat16");
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->output_type(0), DType::kFloat);
    EXPECT_EQ(*back->input(0).node->Attr<DType>("tensor_type"), DType::kBfloat16);
  }
}

TEST_F(PartitionTest, OneDeviceNeedsNoTransfer) {
  const Output y =
      On(1).Op("Neg", {b.WithDevice("/cpu:1").Op("Neg", {b.Const(Tensor::Scalar(1.0f))})});
  const std::vector<StepPartition> parts = Parts(Step({y}));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].step.graph->num_nodes(), 3);
}

}  // namespace
}  // namespace thalweg
