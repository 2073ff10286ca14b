// SPDX-License-Identifier: Apache-2.0
// A million runs of one session leave memory, threads and descriptors as they were.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

// Sanitizers make every run many times as long, and keep memory for themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasuresMemory = false;
constexpr int kRuns = 20'000;
#else
constexpr bool kMeasuresMemory = true;
constexpr int kRuns = 1'000'000;
#endif

struct Holdings {
  int64_t resident_kilobytes = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;

  static int64_t Entries(const char* directory) {
    return std::distance(std::filesystem::directory_iterator(directory), {});
  }
  static Holdings Now() {
    std::ifstream statm("/proc/self/statm");
    int64_t size = 0, resident = 0;
    statm >> size >> resident;
    return {.resident_kilobytes = resident * (sysconf(_SC_PAGESIZE) / 1024),
            .threads = Entries("/proc/self/task"),
            .descriptors = Entries("/proc/self/fd")};
  }
};

TEST(ManyRunsTest, MemoryThreadsAndDescriptorsStayAsTheyWere) {
  SessionFixture f({.threads = 2});
  const Output x = f.Placeholder(PartialShape{-1});
  const Output y = f.b.Op("Add", {f.b.Op("Neg", {x}), x}, {}, "y");
  Node* const fails = f.b.OpNode("TestFail", {}, {}, "fails");
  ASSERT_TRUE(f.b.ok()) << f.b.status().ToString();
  const std::shared_ptr<Callable> call = *f.session->MakeCallable({{x}, {y}, {}});
  const std::vector<Session::NamedTensor> feeds = {{"x:0", Filled(300, 1)}};
  const std::vector<std::string> fetches = {"y:0"}, targets = {"fails"};
  const Tensor values[] = {Filled(1, 1), Filled(100, 2), Filled(5000, 3)};
  // One in a hundred has a deadline, another fails, five go by names.
  const auto run = [&](int i) {
    std::vector<Tensor> outputs;
    Tensor out;
    const int kind = i % 100;
    if (kind == 0) {
      return f.session->Run({.timeout = std::chrono::minutes(10)}, feeds, fetches, {}, &outputs)
          .ok();
    }
    if (kind == 1) return !f.session->Run({}, {}, {}, targets, nullptr).ok();
    if (kind < 7) return f.session->Run({}, feeds, fetches, {}, &outputs).ok();
    return call->Run({&values[i % 40 == 0 ? 2 : i % 2], 1}, {&out, 1}).ok();
  };
  ASSERT_EQ(fails->name(), "fails");
  for (int i = 0; i < kRuns / 20; ++i) ASSERT_TRUE(run(i)) << i;
  const Holdings before = Holdings::Now();
  const int64_t in_use = f.environment->allocator()->Stats().bytes_in_use;
  for (int i = 0; i < kRuns; ++i) ASSERT_TRUE(run(i)) << i;
  const Holdings after = Holdings::Now();
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(f.environment->allocator()->Stats().bytes_in_use, in_use);
  if (kMeasuresMemory) {
    // A byte a run would be a thousand.
    EXPECT_LT(after.resident_kilobytes - before.resident_kilobytes, 256);
  }
}

TEST(ManyRunsTest, SessionsThatCloseLeaveNothing) {
  const auto open_and_close = [] {
    SessionFixture f({.threads = 2});
    const Output x = f.Placeholder();
    const Output y = f.b.Op("Neg", {x});
    return f.Run({{x, Tensor::Scalar(1.0f)}}, {y}).ok();
  };
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(open_and_close());
  const Holdings before = Holdings::Now();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(open_and_close());
  Holdings after = Holdings::Now();
  // A thread that was joined is listed a moment longer.
  for (int i = 0; i < 100'000 && after.threads > before.threads; ++i) {
    std::this_thread::yield();
    after = Holdings::Now();
  }
  EXPECT_LE(after.threads, before.threads);
  EXPECT_EQ(after.descriptors, before.descriptors);
  if (kMeasuresMemory) {
    EXPECT_LT(after.resident_kilobytes - before.resident_kilobytes, 1024);
  }
}

TEST(ManyRunsTest, PartialRunsThatWaitHoldNoThread) {
  for (const int threads : {0, 1, 2}) {
    SessionFixture f({.threads = threads});
    f.b.Op("Neg", {f.b.Op("Neg", {f.Placeholder({}, "a")}, {}, "y")}, {}, "z");
    f.b.Op("Add", {*f.graph->FindOutput("z"), f.Placeholder({}, "b")}, {}, "s");
    ASSERT_TRUE(f.b.ok()) << f.b.status().ToString();
    const std::vector<std::string> feeds = {"a", "b"}, fetches = {"y", "s"};
    const auto go_on = [&](const std::string& handle, const char* feed, float value,
                           const char* fetch) {
      const std::vector<Session::NamedTensor> fed = {{feed, Tensor::Scalar(value)}};
      const std::vector<std::string> wanted = {fetch};
      std::vector<Tensor> out;
      const Status status = f.session->PartialRun(handle, fed, wanted, &out);
      EXPECT_TRUE(status.ok()) << status.ToString();
      return out.empty() ? 0 : out[0].scalar<float>();
    };
    std::vector<std::string> open = {*f.session->PartialRunSetup(feeds, fetches, {})};
    EXPECT_EQ(go_on(open[0], "a", 0, "y"), 0);
    const Holdings before = Holdings::Now();
    for (int i = 1; i < 200; ++i) open.push_back(*f.session->PartialRunSetup(feeds, fetches, {}));
    for (int i = 199; i > 0; --i) {
      EXPECT_EQ(go_on(open[i], "a", static_cast<float>(i), "y"), -i);
    }
    EXPECT_EQ(Holdings::Now().threads, before.threads) << threads << " threads of the environment";
    for (int i = 0; i < 150; ++i) EXPECT_EQ(go_on(open[i], "b", 1, "s"), i + 1);
    // Closing ends the rest.
  }
}

}  // namespace
}  // namespace thalweg
