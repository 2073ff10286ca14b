// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <filesystem>

#include "thalweg/compute/isa/components.h"
#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

int NumThreads() {
  int n = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++n;
  }
  return n;
}

TEST(EnvironmentTest, RefusesBadOptions) {
  const auto error = [](EnvironmentOptions options) {
    return std::string(
        Environment::Create(std::move(options), TestRegistries()).status().message());
  };
  EXPECT_THAT(error({.threads = -2}), HasSubstr("threads must be from -1"));
  EXPECT_THAT(error({.cpu_devices = 0}), HasSubstr("cpu_devices"));
  EXPECT_THAT(error({.job = "a/b"}), HasSubstr("job must be a name"));
  EXPECT_THAT(error({.task = -1}), HasSubstr("task"));
  EXPECT_THAT(error({.memory_limit = -1}), HasSubstr("memory_limit"));
  Registries none = TestRegistries();
  none.devices.clear();
  EXPECT_FALSE(Environment::Create({}, none).ok());
}

TEST(EnvironmentTest, StrictKernelsUseNoComponents) {
  const auto best = *Environment::Create({}, TestRegistries());
  const auto strict = *Environment::Create({.strict_kernels = true}, TestRegistries());
  EXPECT_EQ(compute::MayUseComponents(best->isa()),
            compute::BestIsaLevel() == compute::HardwareIsaLevel());
  EXPECT_FALSE(compute::MayUseComponents(strict->isa()));
  EXPECT_EQ(best->isa().level, strict->isa().level);
}

TEST(EnvironmentTest, MakesVirtualDevices) {
  SessionFixture f({.threads = 0, .cpu_devices = 2, .job = "worker", .task = 3});
  const std::vector<DeviceDescription> devices = *f.session->ListDevices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].name, "/job:worker/replica:0/task:3/device:CPU:1");
  EXPECT_EQ(devices[1].type, "CPU");
  EXPECT_NE(devices[0].incarnation, 0u);
  EXPECT_GT(devices[0].memory_limit, 0);
  EXPECT_EQ(f.environment->FindDevice(devices[1].name), f.environment->devices()[1].get());
  EXPECT_EQ(f.environment->FindDevice("/job:nobody"), nullptr);
}

TEST(EnvironmentTest, RenamedSharesAllButNames) {
  const auto base = *Environment::Create({.threads = 2, .cpu_devices = 2}, TestRegistries());
  const int before = NumThreads();
  const auto renamed = *Environment::Renamed(base, "worker", 3);
  EXPECT_EQ(NumThreads(), before);
  ASSERT_EQ(renamed->devices().size(), 2u);
  EXPECT_EQ(renamed->devices()[1]->full_name(), "/job:worker/replica:0/task:3/device:CPU:1");
  EXPECT_EQ(renamed->devices()[1]->incarnation(), base->devices()[1]->incarnation());
  EXPECT_EQ(&renamed->queue(), &base->queue());
  EXPECT_EQ(&renamed->resources(), &base->resources());
  EXPECT_EQ(renamed->allocator(), base->allocator());
  // A view of a view is one of the same base.
  const auto again = *Environment::Renamed(renamed, "ps", 0);
  EXPECT_EQ(&again->resources(), &base->resources());
  EXPECT_EQ(Environment::Renamed(base, "a/b", 0).status().code(), Code::kInvalidArgument);
}

TEST(EnvironmentTest, NoThreadsMeansNone) {
  const int before = NumThreads();
  SessionFixture f({.threads = 0, .cpu_devices = 2});
  const Output y = f.b.WithDevice("/cpu:1").Op("Neg", {f.Float(1)});
  ASSERT_TRUE(f.Run({}, {f.b.Op("Neg", {y})}).ok());
  EXPECT_EQ(NumThreads(), before);
}

// Runs tasks when told to; Schedule() only keeps them.
class HostQueue : public WorkQueue {
 public:
  void Schedule(Task task) override {
    ++scheduled;
    task.run(task.object, task.argument);
  }
  int Parallelism() const override { return 2; }
  int CurrentThreadIndex() const override { return -1; }
  std::atomic<int> scheduled{0};
};

TEST(EnvironmentTest, UsesTheHostsThreadsAndMakesNone) {
  const int before = NumThreads();
  HostQueue queue;
  SessionFixture f({.host_queue = &queue});
  EXPECT_EQ(&f.environment->queue(), &queue);
  const Output y = f.b.Op("Neg", {f.Float(1)});
  ASSERT_TRUE(f.Run({}, {y}).ok());
  EXPECT_EQ(NumThreads(), before);
}

TEST(EnvironmentTest, TheCapIsResourceExhausted) {
  SessionFixture f({.threads = 0, .memory_limit = int64_t{4} << 20});
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Neg", {x}, {}, "big");
  const Tensor value = Filled(4 << 20, 1.0f);
  const Status status = f.Run({{x, value}}, {y}).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Neg 'big'"));
}

TEST(EnvironmentTest, MemoryGoesBackWhenTheLastSessionCloses) {
  SessionFixture f;
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Neg", {x});
  const Tensor value = Filled(4 << 20, 1.0f);
  ASSERT_TRUE(f.Run({{x, value}}, {y}).ok());
  auto second = *MakeLocalSession(f.environment, f.graph);
  f.session->Close();
  EXPECT_GE(f.environment->allocator()->Stats().bytes_kept, 16 << 20);
  second->Close();
  EXPECT_LT(f.environment->allocator()->Stats().bytes_kept, 1 << 20);
}

TEST(EnvironmentTest, TheCallersFloatingPointStateComesBack) {
  SessionFixture f({.threads = 0}, {.passes = "none"});
  const Output y = f.b.Op("Mul", {f.Float(1e-30f), f.Float(1e-10f)});
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const Result<std::vector<Tensor>> result = f.Run({}, {y});
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ((*result)[0].scalar<float>(), 0);  // flushed
  volatile float tiny = 1e-30f;
  EXPECT_NE(tiny * 1e-10f, 0);
}

}  // namespace
}  // namespace thalweg
