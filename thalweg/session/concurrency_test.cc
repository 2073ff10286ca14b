// SPDX-License-Identifier: Apache-2.0
// One session used by many threads at once: runs by name and by place, new nodes, new callables,
// resets, and a close in the middle of all.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "thalweg/session/session_fixture.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

struct World {
  const char* name;
  int threads;
  int devices;
  friend void PrintTo(const World& world, std::ostream* out) { *out << world.name; }
};

class ConcurrencyTest : public testing::TestWithParam<World> {
 protected:
  SessionFixture f{{.threads = GetParam().threads, .cpu_devices = GetParam().devices},
                   {.plan_cache_size = 16}};  // small, so that plans are also forgotten
};

INSTANTIATE_TEST_SUITE_P(Worlds, ConcurrencyTest,
                         testing::Values(World{"inline", 0, 1}, World{"two", 2, 2},
                                         World{"eight", 8, 2}),
                         [](const auto& info) { return std::string(info.param.name); });

// Every result is right until the close; then, and only then, runs are refused.
class Crowd {
 public:
  explicit Crowd(SessionFixture& f) : f_(f) {
    x_ = f.Placeholder({}, "x");
    y_ = f.b.Op("Neg", {x_}, {}, "y");
    v_ = f.Variable("v");
    add_ = f.b.OpNode("AssignAdd", {v_, f.Float(1)}, {}, "add");
    wait_ = f.b.Op("TestWait", {}, {}, "wait");
    EXPECT_TRUE(f.Run({}, {}, {f.b.OpNode("Assign", {v_, f.Float(0)})}).ok());
  }

  void RunByName() {
    for (int i = 0; !done_.load(); ++i) {
      std::vector<Tensor> out;
      const Status status =
          f_.session->Run({{"x:0", Tensor::Scalar(static_cast<float>(i))}}, {"y:0"}, {}, &out);
      if (Ended(status)) break;
      EXPECT_EQ(out[0].scalar<float>(), static_cast<float>(-i));
    }
  }
  void Extend(int thread) {
    GraphBuilder b(f_.graph.get());  // one thread at a time each, the graph is shared
    const GraphBuilder far = b.WithDevice("/cpu:0");
    Output last = x_;
    for (int i = 1; !done_.load() && i <= 200; ++i) {
      last = GraphBuilder(far).Op("Add", {last, x_}, {}, StrCat("grown_", thread, "_", i));
      ASSERT_TRUE(b.ok()) << b.status().ToString();
      const Tensor value = Tensor::Scalar(2.0f);
      Tensor out;
      const Status status =
          f_.session->Run(RunOptions(), {{x_}, {last}, {}}, {&value, 1}, {&out, 1});
      if (Ended(status)) break;
      EXPECT_EQ(out.scalar<float>(), 2.0f * static_cast<float>(i + 1));
    }
  }
  void Call() {
    while (!done_.load()) {
      Result<std::shared_ptr<Callable>> call = f_.session->MakeCallable({{x_}, {y_}, {add_}});
      if (Ended(call.status())) continue;
      for (int i = 0; i < 5; ++i) {
        const Tensor value = Tensor::Scalar(3.0f);
        Tensor out;
        if (Ended((*call)->Run({&value, 1}, {&out, 1}))) break;
        EXPECT_EQ(out.scalar<float>(), -3.0f);
      }
    }
  }
  // Ends only by the close.
  void Wait() {
    const Signature signature{{}, {wait_}, {}};
    Tensor out;
    EXPECT_TRUE(Ended(f_.session->Run(RunOptions(), signature, {}, {&out, 1})));
  }
  void Close() {
    closing_.store(true);
    f_.session->Close();
    done_.store(true);
  }
  int64_t good_runs() const { return good_runs_.load(); }

 private:
  bool Ended(const Status& status) {
    if (status.ok()) {
      good_runs_.fetch_add(1);
      return false;
    }
    EXPECT_EQ(status.code(), Code::kCancelled) << status.ToString();
    EXPECT_TRUE(closing_.load()) << status.ToString();
    done_.store(true);
    return true;
  }

  SessionFixture& f_;
  Output x_, y_, v_, wait_;
  Node* add_ = nullptr;
  std::atomic<bool> closing_{false}, done_{false};
  std::atomic<int64_t> good_runs_{0};
};

TEST_P(ConcurrencyTest, RunsExtensionsCallablesAndACloseAtOnce) {
  Crowd crowd(f);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { crowd.RunByName(); });
  threads.emplace_back([&] { crowd.RunByName(); });
  threads.emplace_back([&] { crowd.Extend(0); });
  threads.emplace_back([&] { crowd.Extend(1); });
  threads.emplace_back([&] { crowd.Call(); });
  threads.emplace_back([&] { crowd.Wait(); });
  while (crowd.good_runs() < 300) std::this_thread::yield();
  // Two closes at once: the second waits for the same end.
  std::thread other([&] { crowd.Close(); });
  crowd.Close();
  other.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(f.session->Run({}, {"v"}).status().code(), Code::kCancelled);
}

TEST_P(ConcurrencyTest, ResetsBesideRunsLeaveAVariableOrNone) {
  const Output v = f.Variable("v");
  Node* assign = f.b.OpNode("Assign", {v, f.Float(7)});
  constexpr int kRuns = kSanitized ? 20 : 100;  // each compiles its plan anew
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRuns; ++i) {
        EXPECT_TRUE(f.Run({}, {}, {assign}).ok());
        const Result<std::vector<Tensor>> got = f.Run({}, {v});
        if (got.ok()) {
          EXPECT_EQ((*got)[0].scalar<float>(), 7);
        } else {
          EXPECT_EQ(got.status().code(), Code::kFailedPrecondition) << got.status().ToString();
        }
      }
      done.store(true);
    });
  }
  while (!done.load()) {
    f.session->ResetContainers({});
    std::this_thread::yield();  // or the runs starve for the container's lock
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace thalweg
