// SPDX-License-Identifier: Apache-2.0
// Random graphs give the same values whatever the passes, the devices and the threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "thalweg/session/session_fixture.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

// Builds one graph from a seed: the same nodes in every world, on random devices.
class RandomGraph {
 public:
  RandomGraph(SessionFixture& f, int seed, int devices) : f_(f), random_(seed), devices_(devices) {
    x_ = f_.Placeholder(Shape{});
    values_ = {x_, f_.Float(0.5f), f_.Float(-1)};
    for (int i = 0; i < 40; ++i) {
      const int kind = Pick(10);
      if (kind < 7) {
        values_.push_back(Arithmetic());
      } else if (kind < 9) {
        values_.push_back(Branch());
      } else {
        values_.push_back(Loop(StrCat("loop", i)));
      }
    }
    EXPECT_TRUE(f_.b.ok()) << f_.b.status().ToString();
  }

  const Output& x() const { return x_; }
  // Some edges in the middle are fed too.
  std::vector<Output> Some(int count) {
    std::vector<Output> some;
    for (int i = 0; i < count; ++i) some.push_back(values_[3 + static_cast<size_t>(Pick(40))]);
    return some;
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  GraphBuilder Somewhere() {
    const int device = Pick(2);  // drawn in every world, so that the graphs are the same
    GraphBuilder b = f_.b.WithDevice(StrCat("/cpu:", device % devices_));
    return Pick(6) == 0 ? b.WithControls({Any().node}) : b;
  }
  Output Any() { return values_[static_cast<size_t>(Pick(static_cast<int>(values_.size())))]; }

  Output Arithmetic() {
    GraphBuilder b = Somewhere();
    const int kind = Pick(4);
    if (kind == 0) return b.Op("Neg", {Any()});
    if (kind == 1) return b.Op("Mul", {b.Op("Neg", {Any()}), f_.Float(0.25f)});
    if (kind == 2) return b.Op("Identity", {Any()});
    const Output first = Any();
    return b.Op("Add", {first, Any()});
  }

  Output Branch() {
    const Output condition = Somewhere().Op("Less", {Any(), f_.Float(0)});
    const Output value = Any();
    Node* split = Somewhere().OpNode("Switch", {value, condition});
    if (split == nullptr) return Output();
    const Output yes = Somewhere0().Op("Neg", {{split, 1}});
    const Output no = Somewhere0().Op("Add", {{split, 0}, f_.Float(1)});
    return Somewhere0().Op("Merge", {yes, no});
  }

  // i counts from 0 to 3; the value is halved each time.
  Output Loop(const std::string& frame) {
    const auto enter = [&](Output value, bool constant) {
      return Somewhere0().Op("Enter", {value}, {{"frame_name", frame}, {"is_constant", constant}});
    };
    GraphBuilder b = Somewhere0();
    GraphBuilder c = Somewhere0();
    Node* i = b.OpNode("Merge", {enter(f_.Float(0), false), Output()});
    Node* v = c.OpNode("Merge", {enter(Any(), false), Output()});
    const Output limit = enter(f_.Float(3), true);
    const Output half = enter(f_.Float(0.5f), true);
    const Output one = enter(f_.Float(1), true);
    const Output go_on = Somewhere0().Op("LoopCond", {Somewhere0().Op("Less", {{i, 0}, limit})});
    Node* split_i = b.OpNode("Switch", {{i, 0}, go_on});
    Node* split_v = c.OpNode("Switch", {{v, 0}, go_on});
    const Output next_i = b.Op("NextIteration", {Somewhere0().Op("Add", {{split_i, 1}, one})});
    const Output next_v = c.Op("NextIteration", {Somewhere0().Op("Mul", {{split_v, 1}, half})});
    EXPECT_TRUE(f_.graph->SetBackEdge(i, 1, next_i).ok());
    EXPECT_TRUE(f_.graph->SetBackEdge(v, 1, next_v).ok());
    return Somewhere0().Op("Exit", {{split_v, 0}});
  }
  GraphBuilder Somewhere0() { return f_.b.WithDevice(StrCat("/cpu:", Pick(2) % devices_)); }

  SessionFixture& f_;
  std::mt19937 random_;
  const int devices_;
  Output x_;
  std::vector<Output> values_;
};

std::vector<float> RunRandom(int seed, EnvironmentOptions environment, SessionOptions options) {
  const int devices = environment.cpu_devices;
  SessionFixture f(std::move(environment), options);
  RandomGraph random(f, seed, devices);
  std::vector<float> values;
  for (int run = 0; run < 3; ++run) {
    std::vector<std::pair<Output, Tensor>> feeds = {
        {random.x(), Tensor::Scalar(static_cast<float>(run) - 1.5f)}};
    if (run == 2) feeds.emplace_back(random.Some(1)[0], Tensor::Scalar(0.75f));
    const std::vector<Output> fetches = random.Some(6);
    const Result<std::vector<Tensor>> fetched =
        f.Run(feeds, fetches, {}, {.timeout = std::chrono::seconds(20)});
    EXPECT_TRUE(fetched.ok()) << "seed " << seed << ": " << fetched.status().ToString();
    if (!fetched.ok()) return {};
    for (const Tensor& value : *fetched) values.push_back(value.scalar<float>());
  }
  return values;
}

TEST(RandomGraphTest, EveryWorldGivesTheSameValues) {
  constexpr int kSeeds = kSanitized ? 10 : 40;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<float> plain = RunRandom(seed, {.threads = 0}, {.passes = "none"});
    EXPECT_EQ(plain.size(), 18u);
    EXPECT_EQ(RunRandom(seed, {.threads = 0}, {}), plain) << "passes, seed " << seed;
    EXPECT_EQ(RunRandom(seed, {.threads = 0, .cpu_devices = 2}, {.passes = "none"}), plain)
        << "devices, seed " << seed;
    EXPECT_EQ(RunRandom(seed, {.threads = 2, .cpu_devices = 2}, {}), plain)
        << "devices and threads, seed " << seed;
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace thalweg
