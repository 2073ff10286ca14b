// SPDX-License-Identifier: Apache-2.0
// A recorded step that fails hears what its parts have done, and waits for none of them for long.
#include "thalweg/cluster/master/told_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/notification.h"
#include "thalweg/proto/messages.h"
#include "thalweg/tensor/allocator.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

const std::string kToldTask = "/job:ps/replica:0/task:0";

class ToldCallsTest : public ::testing::Test {
 protected:
  ToldCallsTest() {
    Result<std::unique_ptr<RpcServer>> started =
        RpcServer::Start({}, [this](const std::shared_ptr<IncomingCall>& call) { Answer(call); });
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    if (started.ok()) server_ = *std::move(started);
    ClusterSpec spec;
    EXPECT_TRUE(spec.Add("ps", 0, StrCat("127.0.0.1:", server_->port())).ok());
    peers_ = std::make_unique<WorkerClients>(spec, "/job:worker/replica:0/task:0");
    steps_ = std::make_unique<RpcStepTable>(*peers_, MakeCpuAllocator(), clock_);
  }

  // A part that runs until its task hears of the step's end, if it does then.
  void Answer(const std::shared_ptr<IncomingCall>& call) {
    if (call->method().ends_with("RunGraph")) {
      part_ = call;
      runs_.Notify();
      return;
    }
    EXPECT_TRUE(call->method().ends_with("CleanupGraph")) << call->method();
    if (ends_when_told_) part_->Answer(std::string());
    call->Answer(std::string());
    told_.Notify();
  }

  // What the call of a part gives whose step fails while it runs.
  Status RunUntilTheStepFails(const std::function<void()>& when_told) {
    CancellationManager ends;
    ToldCalls calls(*peers_, *steps_, timer_, {kToldTask});
    calls.Begin(7, &ends);
    Notification ended;
    Status status;
    peers_->Call(kToldTask, "RunGraph", *OwnedMessage(pb::RunGraphRequest::Descriptor()),
                 pb::RunGraphResponse::Descriptor(), {.cancellation = calls.cancellation()},
                 [&](const Result<OwnedMessage>& response) {
                   status = response.status();
                   ended.Notify();
                 });
    EXPECT_TRUE(Await(runs_));
    ends.Cancel(InvalidArgument("the other part failed"));
    EXPECT_TRUE(Await(told_));
    when_told();
    EXPECT_TRUE(Await(ended));
    calls.End();
    return status;
  }

  bool Await(Notification& one) {
    return one.WaitUntil(real_, Deadline::After(real_, std::chrono::seconds(30)));
  }

  SystemClock real_;
  FakeClock clock_;
  Timer timer_{clock_};
  bool ends_when_told_ = true;
  Notification runs_, told_;
  std::shared_ptr<IncomingCall> part_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<WorkerClients> peers_;
  std::unique_ptr<RpcStepTable> steps_;
};

TEST_F(ToldCallsTest, APartIsHeardThatTheStepsEndHasEnded) {
  const Status status = RunUntilTheStepFails([] {});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(ToldCallsTest, APartThatGoesOnIsCutOff) {
  ends_when_told_ = false;
  const Status status = RunUntilTheStepFails([&] { clock_.Advance(std::chrono::seconds(2)); });
  EXPECT_EQ(status.code(), Code::kCancelled) << status.ToString();
  part_->Answer(Cancelled("the test is over"));
}

TEST_F(ToldCallsTest, NothingBeginsOfAStepThatHasFailed) {
  CancellationManager ends;
  ends.Cancel(InvalidArgument("it has failed"));
  ToldCalls calls(*peers_, *steps_, timer_, {kToldTask});
  calls.Begin(7, &ends);
  EXPECT_TRUE(calls.cancellation()->IsCancelled());
  EXPECT_FALSE(told_.HasBeenNotified());
}

}  // namespace
}  // namespace thalweg
