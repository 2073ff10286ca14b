// SPDX-License-Identifier: Apache-2.0
// Placement by cost, with the constraints of ConstraintPlacer.
#include "thalweg/passes/place_by_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/test_device.h"
#include "thalweg/passes/place.h"
#include "thalweg/passes/prune.h"
#include "thalweg/passes/test_pass.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Status RunNothing(Context&) { return OkStatus(); }

// Two CPUs, of which the second is ten times as fast: a thousand elements of "Exp" take a second on
// the first.
class PlaceByCostTest : public PassTest {
 protected:
  PlaceByCostTest() {
    for (const char* op : {"Exp", "Neg", "Add", "Identity", "VarHandleOp", "ReadVariableOp", "NoOp",
                           "AssignAddVariableOp"}) {
      kernels.AddFunction<RunNothing>(op, kCpu);
    }
    for (const char* op : {"Exp", "Neg", "VarHandleOp", "ReadVariableOp"}) {
      kernels.AddFunction<RunNothing>(op, "GPU");
    }
    Define({"Exp", "Neg", "Identity"}, [](ShapeContext& c) {
      c.set_output(0, c.input(0));
      return OkStatus();
    });
    Define({"Placeholder"}, ShapeFromAttr);
    Define({"Const"}, [](ShapeContext& c) {
      ASSIGN_OR_RETURN(const Tensor value, c.Attr<Tensor>("value"));
      c.set_output(0, PartialShape(value.shape()));
      return OkStatus();
    });
    AddDevice("/device:CPU:0");
    AddDevice("/device:CPU:1");
    Know();
  }
  void AddDevice(std::string_view name, bool host_addressable = true) {
    owned.push_back(std::make_unique<NamedDevice>(StrCat("/job:localhost/replica:0/task:0", name),
                                                  owned.size() + 7, host_addressable));
    devices.push_back(owned.back().get());
  }
  // Makes the machine of the devices.
  void Know() {
    std::vector<DeviceModel> models;
    for (const Device* device : devices) {
      const int d = static_cast<int>(models.size());
      models.push_back({.name = device->full_name(),
                        .flops = d == 0 ? 1e3 : 1e4,
                        .bytes = 1e12,
                        .node_seconds = 0,
                        .pool = d});
    }
    machine = std::make_shared<Machine>(models);
    machine->SetAllLinks({.latency = 0.01, .bytes_per_second = 1e5});
  }
  std::unique_ptr<ConstraintPlacer> Placer(PlacementMethod method = PlacementMethod::kGreedy,
                                           PlacementRule rule = PlacementRule::kStrict,
                                           bool shares_state = false) {
    return std::make_unique<ConstraintPlacer>(
        ConstraintPlacer::Options{.devices = devices,
                                  .kernels = &kernels,
                                  .rule = rule,
                                  .method = method,
                                  .machine = machine,
                                  .measured = &measured,
                                  .shares_state = shares_state});
  }
  // The devices of the named nodes.
  std::vector<int> Where(ConstraintPlacer& placer, const std::vector<Output>& fetches,
                         const std::vector<std::string>& names) {
    const StepGraph step = Step(fetches);
    const Result<std::vector<int>> device = placer.Place(*graph, step);
    EXPECT_TRUE(device.ok()) << device.status().ToString();
    std::vector<int> where;
    for (const std::string& name : names) {
      const Node* const node = step.graph->FindNode(name);
      where.push_back(node == nullptr || !device.ok() ? -1 : (*device)[node->id()]);
    }
    return where;
  }
  Output Value(int64_t size) {
    return b.Const(*Tensor::Allocate(*allocator, DType::kFloat, Shape{size}));
  }
  Output Exp(Output x, std::string_view name, std::string_view device = "") {
    return b.WithDevice(std::string(device)).Op("Exp", {x}, {}, name);
  }

  const AllocatorPtr allocator = MakeCpuAllocator(1 << 24);
  std::vector<std::unique_ptr<NamedDevice>> owned;
  std::vector<Device*> devices;
  KernelRegistry kernels;
  std::shared_ptr<Machine> machine;
  MeasuredCosts measured;
};

TEST_F(PlaceByCostTest, HeavyNodesGoToTheFastDeviceAndChainsStayTogether) {
  const Output a = Exp(Value(1000), "a");
  const Output b_ = Exp(a, "b");
  const auto placer = Placer();
  EXPECT_THAT(Where(*placer, {b_}, {"a", "b"}), ElementsAre(1, 1));
  // Where nothing is known of costs, as before.
  EXPECT_THAT(Where(*Placer(PlacementMethod::kPreferred), {b_}, {"a", "b"}), ElementsAre(0, 0));
  // What must begin on the slow one goes on there if the way is long.
  const Output c = Exp(Exp(Value(1000), "first", "/cpu:0"), "second");
  EXPECT_THAT(Where(*placer, {c}, {"first", "second"}), ElementsAre(0, 1));
  machine->SetAllLinks({.latency = 0.01, .bytes_per_second = 1e3});
  EXPECT_THAT(Where(*Placer(), {c}, {"first", "second"}), ElementsAre(0, 0));
}

TEST_F(PlaceByCostTest, EveryConstraintHolds) {
  AddDevice("/device:GPU:0", false);
  Know();
  machine->device(2).flops = 1e9;
  const Output x = Value(1000);
  // Kernels: Identity has none there.
  const Output i = b.Op("Identity", {Exp(x, "e")}, {}, "i");
  // Devices that are asked for, exactly and by kind.
  const Output asked = Exp(x, "asked", "/cpu:0"), kind = Exp(x, "kind", "/device:CPU:*");
  // Colocation, with what asks and with what has no kernel.
  const Output with =
      b.Op("Exp", {x}, {{"_class", std::vector<std::string>{"loc:@asked"}}}, "with");
  const Output free = b.Op("Exp", {x}, {{"_class", std::vector<std::string>{"loc:@i"}}}, "free");
  const auto placer = Placer();
  EXPECT_THAT(
      Where(*placer, {i, asked, kind, with, free}, {"e", "i", "asked", "kind", "with", "free"}),
      ElementsAre(2, 1, 0, 1, 0, 1));
  // What cannot be met is an error, or is moved within the task.
  const Output gpu = b.WithDevice("/gpu:0").Op("Identity", {x}, {}, "gpu");
  EXPECT_EQ(placer->Place(*graph, Step({gpu})).status().code(), Code::kInvalidArgument);
  const auto soft = Placer(PlacementMethod::kGreedy, PlacementRule::kSoft);
  EXPECT_THAT(Where(*soft, {gpu}, {"gpu"}), ElementsAre(0));
}

TEST_F(PlaceByCostTest, StateStaysWithTheFirstDeviceAndItsReadersMayLeave) {
  const Output v =
      b.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{1000}}}, "v");
  const Output r = b.Op("ReadVariableOp", {v}, {{"dtype", DType::kFloat}}, "r");
  const Output e = Exp(b.Op("Neg", {Exp(Value(1000), "other")}, {}, "n"), "e");
  const auto placer = Placer();
  EXPECT_THAT(Where(*placer, {r, e}, {"v", "r", "e"}), ElementsAre(0, 0, 1));
  const std::string why = placer->Explain(*graph, *v.node)->Text();
  EXPECT_THAT(why, AllOf(HasSubstr("what keeps state is not placed by cost"),
                         HasSubstr("CPU:1: not possible")));
}

// One that is the host's processor by another name gains nothing for what must be copied.
TEST_F(PlaceByCostTest, StateIsWithAnAcceleratorThatIsFasterThanItsHost) {
  AddDevice("/device:GPU:0", false);
  Know();
  const Output v =
      b.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{1000}}}, "v");
  const Output r = b.Op("ReadVariableOp", {v}, {{"dtype", DType::kFloat}}, "r");
  const auto where = [&](double flops, double bytes, RateSource source, bool shares_state = false) {
    for (int d = 0; d < 3; ++d) machine->device(d).source = source;
    machine->device(2).flops = flops * machine->device(1).flops;
    machine->device(2).bytes = bytes * machine->device(1).bytes;
    const auto placer = Placer(PlacementMethod::kGreedy, PlacementRule::kStrict, shares_state);
    return Where(*placer, {r}, {"v"})[0];
  };
  EXPECT_EQ(where(1.5, 1.5, RateSource::kMeasured), 0);
  EXPECT_EQ(where(2.5, 0.5, RateSource::kMeasured), 2);
  EXPECT_EQ(where(0.5, 2.5, RateSource::kMeasured), 2);
  // Others look for it where it is without measurements; so does who says what devices can do.
  EXPECT_EQ(where(1.5, 1.5, RateSource::kMeasured, true), 2);
  EXPECT_EQ(where(1.5, 1.5, RateSource::kGiven), 2);
  // Where a program puts it, it is.
  const Output there = b.WithDevice("/gpu:0").Op(
      "VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{1000}}}, "there");
  const Output read = b.Op("ReadVariableOp", {there}, {{"dtype", DType::kFloat}}, "read");
  for (int d = 0; d < 3; ++d) machine->device(d).source = RateSource::kMeasured;
  machine->device(2).flops = machine->device(2).bytes = 1;
  EXPECT_THAT(Where(*Placer(), {read}, {"there"}), ElementsAre(2));
}

// Another task has other files, other functions, and no way for lists and words of its own.
TEST_F(PlaceByCostTest, OnlyWhatIsTheSameOnEveryTaskGoesToAnother) {
  owned.push_back(
      std::make_unique<NamedDevice>("/job:localhost/replica:0/task:1/device:CPU:0", 9, true));
  devices[1] = owned.back().get();
  Know();
  for (const char* op : {"PyFuncStateless", "ReadFile", "AsString", "RandomUniform"}) {
    kernels.AddFunction<RunNothing>(op, kCpu);
  }
  const Output heavy = Exp(Value(1000), "heavy");
  const auto floats = std::vector<DType>{DType::kFloat};
  const Output called =
      b.Op("PyFuncStateless", {heavy},
           {{"Tin", floats}, {"Tout", floats}, {"token", std::string("f")}}, "called");
  const Output words = b.Op("AsString", {heavy}, {}, "words");
  const Output file = b.Op("ReadFile", {words}, {}, "file");
  const Output drawn = b.Op("RandomUniform", {b.Const(std::vector<int32_t>{2})},
                            {{"dtype", DType::kFloat}}, "drawn");
  const auto placer = Placer();
  EXPECT_THAT(Where(*placer, {called, file, drawn, Exp(heavy, "last")},
                    {"heavy", "last", "called", "words", "file", "drawn"}),
              ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_THAT(placer->Explain(*graph, *file.node)->Text(),
              AllOf(HasSubstr("not the same on every task"),
                    HasSubstr("task:1/device:CPU:0: not possible")));
}

TEST_F(PlaceByCostTest, MemoryLimitsAreKept) {
  machine->device(1).memory_limit = 9000;
  const Output a = Exp(Placeholder("x", {1000}), "a"), c = Exp(Value(1000), "c");
  // There is room for one: its input, which is a constant or is sent, and its value.
  const std::vector<int> where = Where(*Placer(), {a, c}, {"a", "c"});
  EXPECT_EQ(where[0] + where[1], 1);
}

TEST_F(PlaceByCostTest, MeasuredCostsMoveNodes) {  // papers A3.2.1
  const Output a = Exp(Value(1000), "a");
  const auto placer = Placer();
  EXPECT_THAT(Where(*placer, {a}, {"a"}), ElementsAre(1));
  measured.Add("a", devices[1]->full_name(), 3);
  measured.Add("a", devices[0]->full_name(), 2);
  EXPECT_THAT(Where(*placer, {a}, {"a"}), ElementsAre(0));
}

TEST_F(PlaceByCostTest, ASearchFindsWhatGreedDoesNot) {
  // A chain of which each node by itself is not worth the way: 0.9 s against 1 s.
  machine->SetAllLinks({.latency = 1, .bytes_per_second = 1e9});
  Output x = Exp(Value(1000), "first", "/cpu:0");
  for (int i = 0; i < 5; ++i) x = Exp(x, StrCat("e", i));
  EXPECT_THAT(Where(*Placer(), {x}, {"e0", "e4"}), ElementsAre(0, 0));
  EXPECT_THAT(Where(*Placer(PlacementMethod::kSearched), {x}, {"e0", "e4"}), ElementsAre(1, 1));
}

TEST_F(PlaceByCostTest, ExplainsWithTheCostsOfTheAlternatives) {
  const Output a = Exp(Value(1000), "a"), only = Exp(a, "only", "/cpu:1");
  const auto placer = Placer();
  EXPECT_THAT(placer->Explain(*graph, *a.node)->Text(),
              HasSubstr("no step that needs it was placed yet"));
  ASSERT_THAT(Where(*placer, {only}, {"a", "only"}), ElementsAre(1, 1));
  EXPECT_THAT(placer->Explain(*graph, *a.node)->Text(),
              AllOf(HasSubstr("Exp 'a' -> /job:localhost/replica:0/task:0/device:CPU:1"),
                    HasSubstr("CPU:0: 1.15 s; the node itself 1 s, from 1000 operations and 8000 "
                              "bytes"),
                    HasSubstr("CPU:1 (chosen): 200 ms; the node itself 100 ms")));
  EXPECT_THAT(placer->Explain(*graph, *only.node)->Text(), HasSubstr("CPU:0: not possible"));
  EXPECT_THAT(Placer(PlacementMethod::kPreferred)->Explain(*graph, *a.node)->Text(),
              AllOf(HasSubstr("the first device"), Not(HasSubstr("the node itself"))));
}

TEST_F(PlaceByCostTest, FeedsConstantsVariablesAndLoopsBecomeAWorkload) {
  for (const char* op : {"Enter", "Merge", "NextIteration", "Switch", "Exit"}) {
    kernels.AddFunction<RunNothing>(op, kCpu);
  }
  const Output fed = Placeholder("fed", {10});
  const Output c = Value(10);
  const Output enter = b.Op("Enter", {b.Op("Add", {fed, c}, {}, "sum")},
                            {{"frame_name", std::string("f")}}, "enter");
  Node* const merge = b.OpNode("Merge", {enter, Output()}, {{"T", DType::kFloat}}, "merge");
  const Output next = b.Op("NextIteration", {Output{merge, 0}}, {}, "next");
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  ASSERT_TRUE(graph->SetBackEdge(merge, 1, next).ok());
  Result<StepGraph> step =
      Prune(*graph, {.feeds = {fed}, .fetches = {{merge, 0}, c}, .targets = {}});
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  std::vector<int> group;
  std::vector<Workload::Group> may;
  for (int n = 0; n < step->graph->num_nodes(); ++n) {
    group.push_back(n);
    may.push_back({.may = {true, true}});
  }
  const Workload work = WorkloadOf(*step, group, may, CostModel(*machine));
  EXPECT_TRUE(work.Validate(*machine).ok()) << work.Validate(*machine).message();
  const auto of = [&](const Node* node) -> const Workload::Node& { return work.nodes[node->id()]; };
  const Workload::Node& x = of(step->feeds[0].node);
  EXPECT_TRUE(x.is_source && x.home == Workload::Home::kClient);
  const Workload::Node& constant = of(step->fetches[1].node);
  EXPECT_TRUE(constant.is_source && constant.home == Workload::Home::kAll && constant.is_kept);
  EXPECT_THAT(constant.values, ElementsAre(40));
  EXPECT_EQ(of(step->graph->FindNode("merge")).reads.size(), 1u);  // the back edge is not there
  EXPECT_EQ(of(step->graph->FindNode("sum")).reads.size(), 2u);
}

}  // namespace
}  // namespace thalweg
