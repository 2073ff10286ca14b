// SPDX-License-Identifier: Apache-2.0
// Sessions that place by cost: how it is asked for, what it changes, what traced steps teach it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/placement/test_timed_device.h"
#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Two CPUs, of which the second computes a thousand times as fast.
std::shared_ptr<Machine> UnequalMachine() {
  std::vector<DeviceModel> models;
  for (int d = 0; d < 2; ++d) {
    models.push_back({.name = StrCat("/job:localhost/replica:0/task:0/device:CPU:", d),
                      .flops = d == 0 ? 1e3 : 1e6,
                      .bytes = d == 0 ? 1e3 : 1e6,
                      .node_seconds = d == 0 ? 1 : 1e-3,
                      .pool = d});
  }
  auto machine = std::make_shared<Machine>(models);
  machine->SetAllLinks({.latency = 1e-3});
  return machine;
}

EnvironmentOptions TwoCpus() { return {.threads = 0, .cpu_devices = 2}; }

std::string PlaceOfSum(const SessionOptions& options) {
  SessionFixture f(TwoCpus(), options);
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Add", {x, x}, {}, "y");
  const Result<std::vector<Tensor>> got = f.Run({{x, Tensor::Scalar(2.0f)}}, {y});
  EXPECT_TRUE(got.ok()) << got.status().ToString();
  if (!got.ok()) return "";
  EXPECT_EQ(got->at(0).scalar<float>(), 4);
  return *f.session->ExplainPlacement("y");
}

TEST(PlacementCostTest, AWordOrAMachineWhoseDevicesDifferAsksForIt) {
  const auto first = AllOf(HasSubstr("CPU:0"), Not(HasSubstr("the node itself")));
  const auto second = AllOf(HasSubstr("'y' -> /job:localhost/replica:0/task:0/device:CPU:1"),
                            HasSubstr("CPU:1 (chosen)"));
  EXPECT_THAT(PlaceOfSum({}), first);
  EXPECT_THAT(PlaceOfSum({.machine = UnequalMachine()}), second);
  EXPECT_THAT(PlaceOfSum({.passes = "place_by_search", .machine = UnequalMachine()}), second);
  EXPECT_THAT(PlaceOfSum({.passes = "-place_by_cost", .machine = UnequalMachine()}), first);
  // Devices that are alike: asked for, it comes to the same.
  EXPECT_THAT(PlaceOfSum({.passes = "place_by_cost"}), HasSubstr("CPU:0 (chosen)"));
  auto alike = UnequalMachine();
  alike->device(0) = alike->device(1);
  EXPECT_THAT(PlaceOfSum({.machine = alike}), first);
}

TEST(PlacementCostTest, AMachineOfOtherDevicesIsRefused) {
  SessionFixture f({.threads = 0});
  const auto refused = [&](const std::shared_ptr<Machine>& machine) {
    return MakeLocalSession(f.environment, f.graph, {.machine = machine}).status();
  };
  EXPECT_THAT(refused(UnequalMachine()).ToString(),
              HasSubstr("the machine has 2 devices, the session 1"));
  auto bad = UnequalMachine();
  bad->device(1).flops = 0;
  EXPECT_THAT(refused(bad).ToString(), HasSubstr("flops of device"));
}

// What it copies, and how far it moves the clock, is nobody's business but the test's that asks.
FakeClock& DeviceClock() {
  static FakeClock clock;
  return clock;
}

Result<std::vector<std::unique_ptr<Device>>> MakeTimedDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> made;
  made.push_back(
      std::make_unique<TimedDevice>(request.NameOf("GPU", 0).ToString(), &DeviceClock()));
  return made;
}

// Nothing is measured, and nobody waits for it, but where nodes are placed by cost and no machine
// is given; and that once for all sessions.
TEST(PlacementCostTest, DevicesAreMeasuredForWhoPlacesByCost) {
  Registries registries = TestRegistries();
  registries.devices.push_back(MakeTimedDevices);
  const auto made = Environment::Create({.threads = 0, .clock = &DeviceClock()}, registries);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const std::shared_ptr<Environment>& environment = *made;
  const auto& gpu = dynamic_cast<const TimedDevice&>(*environment->devices().back());
  auto graph = std::make_shared<Graph>(environment->shared_ops());
  GraphBuilder b(graph.get());
  const Output x = b.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
  b.Op("Add", {x, x}, {}, "y");
  const auto explained = [&](SessionOptions options) -> std::string {
    const auto session = MakeLocalSession(environment, graph, std::move(options));
    const auto got = (*session)->Run({{"x:0", Tensor::Scalar(2.0f)}}, {"y:0"});
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return *(*session)->ExplainPlacement("y");
  };
  explained({});
  const std::shared_ptr<Machine> given = UnequalMachine();
  given->device(1).name = gpu.full_name();
  EXPECT_THAT(explained({.passes = "place_by_cost", .machine = given}), HasSubstr("(as given)"));
  EXPECT_EQ(gpu.copied, 0);
  EXPECT_THAT(explained({.passes = "place_by_cost"}),
              AllOf(HasSubstr("CPU:0 (chosen)"), HasSubstr(" us (measured)\n")));
  const int64_t copied = gpu.copied;
  EXPECT_GT(copied, 0);
  explained({.passes = "place_by_search"});
  EXPECT_EQ(gpu.copied, copied);
}

TEST(PlacementCostTest, TracedStepsTeachIt) {
  SessionFixture f(TwoCpus(), {.machine = UnequalMachine()});
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Add", {x, x}, {}, "y");
  const auto run = [&](const RunOptions& options) {
    RunMetadata metadata;
    const Result<std::vector<Tensor>> got =
        f.Run({{x, Tensor::Scalar(2.0f)}}, {y}, {}, options, &metadata);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(got->at(0).scalar<float>(), 4);
  };
  run({});
  EXPECT_THAT(*f.session->ExplainPlacement("y"), Not(HasSubstr("measured")));
  run({.trace = TraceLevel::kFull});
  run({});  // placed anew
  // Here a kernel takes less than the second and the millisecond that the machine was said to take.
  EXPECT_THAT(*f.session->ExplainPlacement("y"),
              AllOf(HasSubstr(", measured"), HasSubstr("by what was measured elsewhere")));
}

// Also to callables that were made before.
TEST(PlacementCostTest, TracedStepsTeachCallables) {
  SessionFixture f(TwoCpus(), {.machine = UnequalMachine()});
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Add", {x, x}, {}, "y");
  const Result<std::shared_ptr<Callable>> callable =
      f.session->MakeCallable({.feeds = {x}, .fetches = {y}, .targets = {}}, {}, nullptr);
  ASSERT_TRUE(callable.ok()) << callable.status().ToString();
  const Tensor fed = Tensor::Scalar(2.0f);
  Tensor fetched;
  const auto step_of_chosen = [&] {
    const std::string why = *f.session->ExplainPlacement("y");
    const size_t at = why.find("(chosen): ");
    return why.substr(at, why.find(';', at) - at);
  };
  const auto run = [&](TraceLevel trace) {
    RunMetadata metadata;
    RunOptions options;
    options.trace = trace;
    ASSERT_TRUE((*callable)->Run(options, {&fed, 1}, {&fetched, 1}, &metadata).ok());
    EXPECT_EQ(fetched.scalar<float>(), 4);
  };
  run(TraceLevel::kNone);
  const std::string guessed = step_of_chosen();
  run(TraceLevel::kFull);
  EXPECT_EQ(step_of_chosen(), guessed);
  run(TraceLevel::kNone);  // placed anew
  EXPECT_NE(step_of_chosen(), guessed);
}

// The value of a variable is where it was, whatever steps cost.
TEST(PlacementCostTest, StateStaysFromStepToStep) {
  SessionFixture f(TwoCpus(), {.machine = UnequalMachine()});
  const Output v = f.Variable("v");
  const Output set = f.b.Op("Assign", {v, f.Float(3)}, {}, "set");
  const Output read = f.b.Op("Neg", {f.b.Op("Mul", {v, v}, {}, "square")}, {}, "read");
  ASSERT_TRUE(f.Run({}, {}, {set.node}).ok());
  const Result<std::vector<Tensor>> got = f.Run({}, {read});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->at(0).scalar<float>(), -9);
  EXPECT_THAT(*f.session->ExplainPlacement("v"),
              HasSubstr("'v' -> /job:localhost/replica:0/task:0/device:CPU:0"));
  EXPECT_THAT(*f.session->ExplainPlacement("read"), HasSubstr("CPU:1 (chosen)"));
}

}  // namespace
}  // namespace thalweg
