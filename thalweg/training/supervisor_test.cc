// SPDX-License-Identifier: Apache-2.0
// TrainingSupervisor over sessions that say what a test tells them. On servers that go away:
// thalweg/api/supervisor_test.cc.
#include "thalweg/training/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/graph_session.h"
#include "thalweg/training/variable_nodes.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the sessions of one test do and have done.
struct Script {
  std::deque<Status> steps;  // of the target "train"; ok when there are no more
  std::deque<Status> makes;  // of making a session
  std::deque<Tensor> ready;  // the last one stays
  Tensor global_step = Tensor::Scalar(int64_t{0});
  std::vector<std::string> targets;  // that have run
  int made = 0, closed = 0;

  static Status Next(std::deque<Status>& from) {
    if (from.empty()) return OkStatus();
    Status status = from.front();
    from.pop_front();
    return status;
  }
};

class ScriptedSession final : public Session {
 public:
  ScriptedSession(Script& script, const GraphSession& local) : script_(script), local_(local) {}
  using Session::Run;
  Status Run(const RunOptions&, std::span<const NamedTensor>, std::span<const std::string> fetches,
             std::span<const std::string> targets, std::vector<Tensor>* outputs,
             RunMetadata*) override {
    for (const std::string& target : targets) {
      script_.targets.push_back(target);
      if (target == "train") RETURN_IF_ERROR(Script::Next(script_.steps));
    }
    if (outputs != nullptr) outputs->clear();
    for (const std::string& fetch : fetches) {
      if (fetch == "step") {
        outputs->push_back(script_.global_step);
      } else {
        outputs->push_back(script_.ready.front());
        if (script_.ready.size() > 1) script_.ready.pop_front();
      }
    }
    return OkStatus();
  }
  void Close() override { ++script_.closed; }
  const std::shared_ptr<Graph>& graph() const override { return local_.graph; }
  Environment& environment() const override { return *local_.environment; }

  // Not used by a supervisor.
  Status Run(const RunOptions&, const Signature&, std::span<const Tensor>, std::span<Tensor>,
             RunMetadata*) override {
    return Unimplemented("by place");
  }
  Result<std::shared_ptr<Callable>> MakeCallable(const Signature&, const RunOptions&,
                                                 const RunOptions*) override {
    return Unimplemented("callables");
  }
  Result<std::string> PartialRunSetup(std::span<const std::string>, std::span<const std::string>,
                                      std::span<const std::string>, const RunOptions&) override {
    return Unimplemented("partial runs");
  }
  Status PartialRun(const std::string&, std::span<const NamedTensor>, std::span<const std::string>,
                    std::vector<Tensor>*) override {
    return Unimplemented("partial runs");
  }
  void EndPartialRun(const std::string&) override {}
  Result<std::vector<DeviceDescription>> ListDevices() override {
    return std::vector<DeviceDescription>();
  }
  Result<std::string> ExplainPlacement(std::string_view) override { return std::string(); }
  Result<std::string> DescribePlan(std::span<const std::string>, std::span<const std::string>,
                                   std::span<const std::string>) override {
    return std::string();
  }
  void ResetContainers(const std::vector<std::string>&) override {}

 private:
  Script& script_;
  const GraphSession& local_;
};

class ScriptedSupervisorTest : public testing::Test {
 protected:
  TrainingSupervisor Make(TrainingSupervisorOptions options) {
    return TrainingSupervisor(
        [this]() -> Result<std::shared_ptr<Session>> {
          RETURN_IF_ERROR(Script::Next(script_.makes));
          ++script_.made;
          return std::shared_ptr<Session>(std::make_shared<ScriptedSession>(script_, local_));
        },
        nullptr, std::move(options));
  }
  static Status Train(TrainingSupervisor& supervisor) {
    return supervisor.Run({}, {}, std::vector<std::string>{"train"}, nullptr);
  }

  GraphSession local_;
  Script script_;
};

TEST_F(ScriptedSupervisorTest, AChiefInitializesThenRunsItsLocalTargets) {
  TrainingSupervisor chief = Make({.initializers = {"init"}, .local = {"local"}});
  EXPECT_EQ(chief.session(), nullptr);
  ASSERT_TRUE(Train(chief).ok());
  ASSERT_TRUE(Train(chief).ok());
  EXPECT_THAT(script_.targets, ElementsAre("init", "local", "train", "train"));
  EXPECT_EQ(script_.made, 1);
  EXPECT_EQ(chief.renewals(), 0);
}

TEST_F(ScriptedSupervisorTest, ALostTaskMakesTheSessionAgainAndTheStepIsRunAgain) {
  script_.steps = {OkStatus(), Aborted("restarted"), Unavailable("away")};
  TrainingSupervisor chief = Make({.initializers = {"init"}});
  ASSERT_TRUE(Train(chief).ok());
  ASSERT_TRUE(Train(chief).ok());
  EXPECT_EQ(chief.renewals(), 2);
  EXPECT_EQ(script_.made, 3);
  EXPECT_EQ(script_.closed, 2) << "what is lost is closed";
  EXPECT_THAT(script_.targets,
              ElementsAre("init", "train", "train", "init", "train", "init", "train"));
}

TEST_F(ScriptedSupervisorTest, AnyOtherErrorIsTheCallers) {
  script_.steps = {InvalidArgument("loss is NaN")};
  TrainingSupervisor chief = Make({});
  EXPECT_EQ(Train(chief).message(), "loss is NaN");
  EXPECT_EQ(chief.renewals(), 0);
  EXPECT_TRUE(Train(chief).ok()) << "the session stays";
  EXPECT_EQ(script_.made, 1);
}

TEST_F(ScriptedSupervisorTest, AWorkerWaitsUntilTheVariablesAreThereAndInitializesNothing) {
  script_.ready = {Tensor::Scalar(false), Tensor::Scalar(true)};
  TrainingSupervisor worker =
      Make({.is_chief = false, .initializers = {"init"}, .ready = {"is_set"}});
  ASSERT_TRUE(Train(worker).ok());
  EXPECT_THAT(script_.targets, ElementsAre("train"));
  EXPECT_EQ(script_.made, 2);
  EXPECT_EQ(script_.closed, 1);
  EXPECT_TRUE(worker.Save().ok()) << "nothing for a worker";
}

TEST_F(ScriptedSupervisorTest, AChiefWhoseInitializersSetNothingIsTold) {
  script_.ready = {Tensor::Scalar(false)};
  TrainingSupervisor chief = Make({.initializers = {"init"}, .ready = {"is_set"}});
  const Status status = Train(chief);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(script_.closed, script_.made);
}

TEST_F(ScriptedSupervisorTest, PatienceEndsWithTheLastErrorItMet) {
  script_.makes = {Unavailable("no server")};
  TrainingSupervisor chief = Make({.patience = std::chrono::nanoseconds(0)});
  const Status status = Train(chief);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("no session was ready"), HasSubstr("no server")));
  EXPECT_EQ(chief.session(), nullptr);
}

TEST_F(ScriptedSupervisorTest, MakingASessionIsTriedAgainOnlyWhenTasksAreAway) {
  script_.makes = {Unavailable("no server"), Aborted("restarts"), OkStatus()};
  TrainingSupervisor chief = Make({});
  EXPECT_TRUE(Train(chief).ok());
  EXPECT_EQ(script_.made, 1);
  script_.steps = {Unavailable("away")};
  script_.makes = {PermissionDenied("no certificate")};
  EXPECT_EQ(Train(chief).message(), "no certificate");
}

TEST_F(ScriptedSupervisorTest, WhatIsNoBoolIsNamed) {
  script_.ready = {Tensor::Vector<bool>({true, true})};
  TrainingSupervisor chief = Make({.ready = {"is_set"}});
  EXPECT_THAT(std::string(Train(chief).message()),
              HasSubstr("'is_set' of a TrainingSupervisor must be a bool scalar, got bool"));
}

TEST_F(ScriptedSupervisorTest, NothingIsSavedBeforeTheFirstStep) {
  TrainingSupervisor chief = Make({});
  EXPECT_EQ(chief.Save().code(), Code::kFailedPrecondition);
}

// With a true session and a true saver: what is saved, when.
TEST(SavingSupervisorTest, AChiefSavesAtTheBeginAndEverySoManySteps) {
  const TemporaryDirectory directory;
  GraphSession local;
  const VariableNodes step =
      *AddVariable(local.b, "step", local.b.ScalarConst(DType::kInt64, 0), true);
  Node* const train = local.b.OpNode(
      "AssignAddVariableOp", {step.handle, local.b.ScalarConst(DType::kInt64, 1)}, {}, "train");
  Saver saver = *Saver::Create(local.graph.get(), {{"step", step.handle}}, {});
  const auto make = [&] {
    return TrainingSupervisor(
        [&]() -> Result<std::shared_ptr<Session>> {
          ASSIGN_OR_RETURN(auto session, MakeLocalSession(local.environment, local.graph));
          return std::shared_ptr<Session>(std::move(session));
        },
        &saver,
        {.initializers = {step.initializer->name()},
         .global_step = step.value.ToString(),
         .path = directory.Path("m"),
         .save_every_steps = 3});
  };
  TrainingSupervisor chief = make();
  for (int i = 0; i < 7; ++i) {
    const Status status = chief.Run({}, {}, std::vector<std::string>{train->name()}, nullptr);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  std::vector<std::string> names;
  for (const KeptCheckpoint& kept : saver.kept()) names.push_back(kept.path);
  EXPECT_THAT(names,
              ElementsAre(directory.Path("m-0"), directory.Path("m-3"), directory.Path("m-6")));
  ASSERT_TRUE(chief.Save().ok());
  EXPECT_EQ(saver.kept().back().path, directory.Path("m-7"));
  TrainingSupervisor next = make();  // a new chief goes on from there
  std::vector<Tensor> out;
  const std::string fetch[] = {step.value.ToString()};
  ASSERT_TRUE(next.Run({}, fetch, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<int64_t>(), 7);
}

}  // namespace
}  // namespace thalweg
