// SPDX-License-Identifier: Apache-2.0
// TrainingSupervisor on servers that go away and come back (papers A3.3.3, B4.3).
#include "thalweg/training/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "thalweg/api/registries.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/cluster/client/remote_session.h"
#include "thalweg/cluster/server/server.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/training/variable_nodes.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Each step adds one to the global step and 0.5 to w.
class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() {
    environment_ = *Environment::Create({.threads = 1}, MakeRegistries());
    graph_ = std::make_shared<Graph>(environment_->shared_ops());
    GraphBuilder b(graph_.get());
    step_ = *AddVariable(b, "step", b.ScalarConst(DType::kInt64, 0), true);
    w_ = *AddVariable(b, "w", b.ScalarConst(DType::kFloat, 0), true);
    const std::vector<Node*> updates = {
        b.OpNode("AssignAddVariableOp", {step_.handle, b.ScalarConst(DType::kInt64, 1)}),
        b.OpNode("AssignAddVariableOp", {w_.handle, b.ScalarConst(DType::kFloat, 0.5)})};
    train_ = b.Group(updates, "train")->name();
    init_ = b.Group({step_.initializer, w_.initializer}, "init")->name();
    ready_ = b.Op("VarIsInitializedOp", {w_.handle}, {}, "ready").ToString();
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    saver_.emplace(
        *Saver::Create(graph_.get(), {{"step", step_.handle}, {"w", w_.handle}}, SaverOptions()));
    StartServer("127.0.0.1:0");
    address_ = StrCat("127.0.0.1:", server_->port());
  }

  void StartServer(const std::string& address) {
    ServerOptions options;
    if (address != "127.0.0.1:0") {
      const Status added = options.cluster.Add("local", 0, address);
      ASSERT_TRUE(added.ok()) << added.ToString();
    }
    Result<std::unique_ptr<Server>> server = Server::Start(std::move(options), MakeRegistries());
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }

  TrainingSupervisor Supervisor(bool chief, std::chrono::nanoseconds patience = 30s) {
    TrainingSupervisorOptions options = {.is_chief = chief,
                                         .initializers = {init_},
                                         .local = {},
                                         .ready = {ready_},
                                         .global_step = step_.value.ToString(),
                                         .path = directory_.path() + "/model",
                                         .save_every_steps = 2,
                                         .patience = patience};
    const std::string target = server_->target();
    return TrainingSupervisor(
        [this, target] { return MakeRemoteSession(environment_, graph_, target); }, &*saver_,
        std::move(options));
  }

  // (global step, w) after a step.
  std::pair<int64_t, float> Train(TrainingSupervisor& supervisor) {
    Status status = supervisor.Run({}, {}, std::vector<std::string>{train_}, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::vector<Tensor> out;
    const std::string fetches[] = {step_.value.ToString(), w_.value.ToString()};
    if (status.ok()) status = supervisor.Run({}, fetches, {}, &out);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return {-1, 0};
    return {*out[0].data<int64_t>(), *out[1].data<float>()};
  }

  TemporaryDirectory directory_;
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Graph> graph_;
  VariableNodes step_, w_;
  std::string train_, init_, ready_, address_;
  std::optional<Saver> saver_;
  std::unique_ptr<Server> server_;
};

TEST_F(SupervisorTest, GoesOnFromTheNewestCheckpointAfterARestart) {
  TrainingSupervisor chief = Supervisor(true);
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Train(chief), std::make_pair(int64_t{i}, 0.5F * i));
  server_->Stop();
  StartServer(address_);
  // Steps 0, 2 and 4 were saved: step 5 is done again, and the step counts agree with the state.
  EXPECT_EQ(Train(chief), std::make_pair(int64_t{5}, 2.5F));
  EXPECT_EQ(chief.renewals(), 1);
  TrainingSupervisor another = Supervisor(true);  // a new chief begins with the newest, too
  EXPECT_TRUE(chief.Save().ok());
  EXPECT_EQ(Train(another), std::make_pair(int64_t{6}, 3.0F));
}

TEST_F(SupervisorTest, AWorkerWaitsForTheChiefAndNeverRestores) {
  TrainingSupervisor impatient = Supervisor(false, 50ms);
  const Status status = impatient.Run({}, {}, std::vector<std::string>{train_}, nullptr);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("the chief has not initialized"));
  TrainingSupervisor chief = Supervisor(true);
  EXPECT_EQ(Train(chief).first, 1);
  TrainingSupervisor worker = Supervisor(false);
  EXPECT_EQ(Train(worker), std::make_pair(int64_t{2}, 1.0F));
}

TEST_F(SupervisorTest, ErrorsOfStepsAreNoReasonToBeginAgain) {
  TrainingSupervisor chief = Supervisor(true);
  EXPECT_EQ(Train(chief).first, 1);
  const Status status = chief.Run({}, {}, std::vector<std::string>{"nothing"}, nullptr);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(chief.renewals(), 0);
  EXPECT_EQ(Train(chief).first, 2);
}

TEST_F(SupervisorTest, GivesUpWhenItsPatienceIsOver) {
  TrainingSupervisor chief = Supervisor(true, 100ms);
  EXPECT_EQ(Train(chief).first, 1);
  server_->Stop();
  const Status status = chief.Run({}, {}, std::vector<std::string>{train_}, nullptr);
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
}

}  // namespace
}  // namespace thalweg
