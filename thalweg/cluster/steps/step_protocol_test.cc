// SPDX-License-Identifier: Apache-2.0
// The step protocol in simulation: one master (CoordinatorState) and three workers
// (WorkerStepState) over a network that delays, reorders bulk behind control, repeats, cuts, and
// over tasks that stop, restart and fail. Every schedule comes from a seed; after each the
// invariants are checked.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>

#include "thalweg/cluster/steps/coordinator_state.h"
#include "thalweg/cluster/steps/worker_step_state.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr int kWorkers = 3;
constexpr int kMasterNode = kWorkers;  // nodes: the workers, then the master
constexpr uint32_t kMaster = 1;
constexpr StepTime kDeadline = 5s;

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {
    for (Worker& worker : workers_) EXPECT_TRUE(worker.state->AddMaster(kMaster).ok());
  }

  void Play() {
    const uint64_t steps = 1 + Random(4);
    for (uint64_t number = 1; number <= steps; ++number) {
      At(milliseconds(Random(3000)), [this, number] { BeginStep(number); });
    }
    const uint64_t faults = Random(4);
    for (uint64_t i = 0; i < faults; ++i) {
      At(milliseconds(Random(4000)), [this] { Fault(); });
    }
    for (StepTime t = 50ms; t < 60s; t += 50ms) {
      At(t, [this] { Tick(); });
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.when;
      event.run();
    }
    CheckEnd();
  }

 private:
  struct Event {
    StepTime when;
    uint64_t order;
    std::function<void()> run;
    bool operator<(const Event& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };
  struct Worker {
    std::unique_ptr<WorkerStepState> state =
        std::make_unique<WorkerStepState>(WorkerStepLimits{.early_life = 500ms});
    uint64_t incarnation = 1;
    StepTime stopped_until{};
    std::map<uint64_t, int> held;                       // tensors by step
    std::set<uint64_t> running;                         // by step
    std::set<uint64_t> cancelled;                       // CANCEL was received by this incarnation
    std::set<uint64_t> dropped;                         // early data was dropped
    std::multiset<std::pair<uint64_t, uint64_t>> runs;  // step, incarnation
  };
  struct MasterStep {
    std::optional<CoordinatorState> coordinator;
    StepTime begun{};
    StepTime closed{};
    std::array<uint64_t, kWorkers> incarnations{};
    std::set<int> done;
  };

  uint64_t Random(uint64_t below) { return random_() % below; }
  bool Chance(int percent) { return Random(100) < static_cast<uint64_t>(percent); }
  void At(StepTime when, std::function<void()> run) {
    events_.push({when, order_++, std::move(run)});
  }

  // In order within a pair and kind; a cut loses what is on its way. A message to a task that is
  // stopped waits for it.
  void Deliver(int from, int to, bool bulk, std::function<void()> handle) {
    const int copies = Chance(5) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      StepTime& last = last_[{from, to, bulk}];
      // Sometimes the network is slow: START may come after what was sent later elsewhere.
      last = std::max(last, now_ + milliseconds(Random(bulk ? 800 : Chance(5) ? 1500 : 40)));
      Arrive(from, to, last, epoch_[Pair(from, to)], handle);
    }
  }
  void Arrive(int from, int to, StepTime when, uint64_t epoch, std::function<void()> handle) {
    At(when, [=, this, handle = std::move(handle)] {
      if (epoch_[Pair(from, to)] != epoch || parted_.contains(Pair(from, to))) return;
      if (to < kWorkers && workers_[to].stopped_until > now_) {
        return Arrive(from, to, workers_[to].stopped_until, epoch, handle);
      }
      handle();
    });
  }
  static std::pair<int, int> Pair(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

  void BeginStep(uint64_t number) {
    MasterStep& step = steps_[number];
    step.coordinator.emplace(kWorkers, now_ + kDeadline);
    step.begun = now_;
    open_.insert(number);
    for (int w = 0; w < kWorkers; ++w) {
      step.incarnations[w] = registered_[w];
      const StartMessage start{.step = MakeStep(kMaster, number),
                               .lowest_open = *open_.begin(),
                               .plan = 1,
                               .incarnation = registered_[w],
                               .time_left = kDeadline.count()};
      Deliver(kMasterNode, w, false, [this, w, start] { OnStart(w, start); });
    }
    if (Chance(15)) {
      At(now_ + milliseconds(Random(300)), [this, number] {
        React(number, steps_[number].coordinator->Stop(Cancelled("the client left"), false, now_));
      });
    }
  }

  void React(uint64_t number, const CoordinatorState::Reaction& todo) {
    MasterStep& step = steps_[number];
    if (todo.cancel) {
      for (int w = 0; w < kWorkers; ++w) {
        if (!step.coordinator->awaits(w)) continue;
        const uint64_t id = MakeStep(kMaster, number);
        Deliver(kMasterNode, w, false, [this, w, id] { OnCancel(w, id); });
      }
    }
    if (!todo.closed || !open_.contains(number)) return;
    open_.erase(number);
    step.closed = now_;
    EXPECT_LE(step.closed - step.begun, kDeadline + 1s + 50ms);  // invariant 1 (and a tick)
    if (step.coordinator->status().ok()) {
      EXPECT_EQ(step.done.size(), static_cast<size_t>(kWorkers));  // invariant 4
    }
  }

  void OnStart(int w, const StartMessage& start) {
    Worker& worker = workers_[w];
    Carry(w, worker.state->Forget(kMaster, start.lowest_open));
    const StepReaction todo = worker.state->Start(start, worker.incarnation, now_);
    if (todo.kind != StepReaction::kPrepare) return Carry(w, {todo});
    EXPECT_EQ(start.incarnation, worker.incarnation);  // invariant 3
    // What arrives at this very time is handled first.
    const uint64_t incarnation = worker.incarnation;
    At(now_, [this, w, id = start.step, incarnation] {
      if (workers_[w].incarnation == incarnation) Carry(w, {workers_[w].state->Begin(id)});
    });
  }
  void OnCancel(int w, uint64_t id) {
    workers_[w].cancelled.insert(id);
    Carry(w, {workers_[w].state->Cancel(id, Cancelled("as the master says"))});
  }
  void OnTensor(int w, uint64_t id) {
    const StepReaction todo = workers_[w].state->Tensor(id, 100, now_);
    if (todo.kind == StepReaction::kKeep) {
      ++workers_[w].held[id];
      MaybeEnd(w, id);
    } else {
      Drop(w, id);
    }
  }
  void OnAnswer(int w, uint64_t id, const Status& status, bool derived) {
    const uint64_t number = NumberOfStep(id);
    MasterStep& step = steps_[number];
    if (status.ok()) step.done.insert(w);
    React(number, status.ok() ? step.coordinator->Done(w)
                              : step.coordinator->Failed(w, status, derived, now_));
  }

  void Drop(int w, uint64_t id) {
    if (!workers_[w].running.contains(id)) workers_[w].dropped.insert(id);
    workers_[w].held.erase(id);
  }

  void Carry(int w, const std::vector<StepReaction>& todos) {
    for (const StepReaction& todo : todos) CarryOne(w, todo);
  }
  void CarryOne(int w, const StepReaction& todo) {
    Worker& worker = workers_[w];
    switch (todo.kind) {
      case StepReaction::kRun:
        return Run(w, todo.step);
      case StepReaction::kDrop:
        return Drop(w, todo.step);
      case StepReaction::kAbort:
        // The kernels come back a little later.
        return EndLater(w, todo.step, todo.status);
      case StepReaction::kAnswer:
        worker.held.erase(todo.step);
        return Deliver(w, kMasterNode, false,
                       [this, w, todo] { OnAnswer(w, todo.step, todo.status, todo.derived); });
      default:
        return;
    }
  }

  void Run(int w, uint64_t id) {
    Worker& worker = workers_[w];
    EXPECT_FALSE(worker.cancelled.contains(id));  // invariant 5
    EXPECT_FALSE(worker.dropped.contains(id));    // invariant 6
    worker.runs.insert({id, worker.incarnation});
    EXPECT_EQ(worker.runs.count({id, worker.incarnation}), 1U);  // invariant 3
    worker.running.insert(id);
    const int next = (w + 1) % kWorkers;
    Deliver(w, next, true, [this, next, id] { OnTensor(next, id); });
    if (Chance(5)) return EndLater(w, id, Internal("a kernel failed"));
    if (Chance(5)) return;  // a kernel that waits for ever
    ready_.insert({w, id, worker.incarnation});
    MaybeEnd(w, id);
  }
  void MaybeEnd(int w, uint64_t id) {
    Worker& worker = workers_[w];
    if (worker.held[id] == 0 || ready_.erase({w, id, worker.incarnation}) == 0) return;
    EndLater(w, id, OkStatus());
  }
  void EndLater(int w, uint64_t id, const Status& status) {
    const uint64_t incarnation = workers_[w].incarnation;
    At(now_ + milliseconds(Random(50)), [=, this] {
      Worker& worker = workers_[w];
      if (worker.incarnation != incarnation || worker.running.erase(id) == 0) return;
      worker.held.erase(id);
      CarryOne(w, worker.state->Ended(id, status));
    });
  }

  void Fault() {
    const int w = static_cast<int>(Random(kWorkers));
    switch (Random(5)) {
      case 0:
        workers_[w].stopped_until = now_ + milliseconds(Random(20'000));
        return;
      case 1:
        return Restart(w);
      case 2:
        return Cut(w, (w + 1) % kWorkers);
      case 3:  // nothing comes through any more, and nobody is told
        parted_.insert(Pair(w, kMasterNode));
        return;
      default:
        return Cut(w, kMasterNode);
    }
  }
  void Restart(int w) {
    Worker& worker = workers_[w];
    worker = Worker{.incarnation = worker.incarnation + 1, .runs = worker.runs};
    for (int other = 0; other <= kMasterNode; ++other) {
      if (other != w) Cut(w, other);
    }
    // Its new life is registered with some time later, if the master goes on with it.
    if (!Chance(50)) return;
    At(now_ + milliseconds(Random(500)), [this, w, incarnation = worker.incarnation] {
      if (workers_[w].incarnation != incarnation) return;
      EXPECT_TRUE(workers_[w].state->AddMaster(kMaster).ok());
      registered_[w] = incarnation;
    });
  }
  // Both ends hear that their channel is closed; what is on its way is lost.
  void Cut(int a, int b) {
    ++epoch_[Pair(a, b)];
    last_.erase({a, b, false});
    last_.erase({b, a, false});
    last_.erase({a, b, true});
    last_.erase({b, a, true});
    for (const int end : {a, b}) {
      const int other = end == a ? b : a;
      if (end == kMasterNode) {
        for (auto& [number, step] : steps_) {
          React(number, step.coordinator->Lost(other, Unavailable("the task is lost"), now_));
        }
      } else {
        const Status why = Unavailable("a channel is lost");
        WorkerStepState& state = *workers_[end].state;
        for (const auto& [number, step] : steps_) {
          const uint64_t id = MakeStep(kMaster, number);
          Carry(end, {other == kMasterNode ? state.Cancel(id, why) : state.Fail(id, why)});
        }
      }
    }
  }

  void Tick() {
    for (auto& [number, step] : steps_) React(number, step.coordinator->Tick(now_));
    for (int w = 0; w < kWorkers; ++w) {
      if (workers_[w].stopped_until <= now_) Carry(w, workers_[w].state->Expire(now_));
    }
  }

  void CheckEnd() {
    EXPECT_TRUE(open_.empty());
    for (const Worker& worker : workers_) {  // invariant 2
      EXPECT_EQ(worker.state->open_steps(), 0U);
      EXPECT_TRUE(worker.running.empty());
      for (const auto& [id, count] : worker.held) EXPECT_EQ(count, 0) << "tensors are kept";
      EXPECT_LE(worker.state->tombstones(), steps_.size());
    }
  }

  std::mt19937_64 random_;
  std::priority_queue<Event> events_;
  uint64_t order_ = 0;
  StepTime now_{};
  std::map<std::tuple<int, int, bool>, StepTime> last_;
  std::map<std::pair<int, int>, uint64_t> epoch_;
  std::set<std::pair<int, int>> parted_;
  std::array<Worker, kWorkers> workers_;
  std::array<uint64_t, kWorkers> registered_{1, 1, 1};
  std::map<uint64_t, MasterStep> steps_;
  std::set<uint64_t> open_;
  std::set<std::tuple<int, uint64_t, uint64_t>> ready_;
};

TEST(StepProtocolTest, TenThousandSchedulesKeepTheInvariants) {
  const uint64_t schedules = kSanitized ? 300 : 10'000;  // checked memory makes each far slower
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    Simulation(seed).Play();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace thalweg
