// SPDX-License-Identifier: Apache-2.0
// What the tasks of a traced step are asked, and for whom its client waits.
#include "thalweg/cluster/master/step_tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/notification.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/allocator.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kStep = 77;
const std::string kTask = "/job:ps/replica:0/task:0";

// A task that is asked to log, and may stand still when it is asked for what it has.
class Task {
 public:
  Task() {
    Result<std::unique_ptr<RpcServer>> started =
        RpcServer::Start({}, [this](const std::shared_ptr<IncomingCall>& call) { Answer(call); });
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    if (started.ok()) server_ = *std::move(started);
  }
  ~Task() {
    MutexLock lock(mutex_);
    for (const auto& call : unanswered_) call->Answer(Unavailable("the test is over"));
  }
  ClusterSpec Spec() const {
    ClusterSpec spec;
    EXPECT_TRUE(spec.Add("worker", 0, "127.0.0.1:1").ok());
    EXPECT_TRUE(spec.Add("ps", 0, StrCat("127.0.0.1:", server_->port())).ok());
    return spec;
  }
  // "on 77", "off 77".
  std::vector<std::string> asked() {
    MutexLock lock(mutex_);
    return asked_;
  }

  CancellationManager* stands_still = nullptr;  // not null: and the step's client leaves
  Notification is_off;

 private:
  void Answer(const std::shared_ptr<IncomingCall>& call) {
    const Result<OwnedMessage> request =
        ParseMessage(pb::LoggingRequest::Descriptor(), std::string(call->request()));
    ASSERT_TRUE(request.ok()) << request.status().ToString();
    std::string words = (*request)->GetBool(pb::LoggingRequest::kEnableRpcLogging) ? "on" : "";
    const bool off = (*request)->GetBool(pb::LoggingRequest::kDisableRpcLogging);
    if (off) words += "off";
    for (const int64_t id : (*request)->Repeated<int64_t>(pb::LoggingRequest::kFetchStepId)) {
      words += StrCat(" ", id);
    }
    {
      MutexLock lock(mutex_);
      asked_.push_back(words);
      if (off && stands_still != nullptr) unanswered_.push_back(call);
    }
    if (off && stands_still != nullptr) {
      stands_still->Cancel(Cancelled("the client has left"));
    } else {
      call->Answer(std::string());
    }
    if (off) is_off.Notify();
  }

  Mutex mutex_;
  std::vector<std::string> asked_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<IncomingCall>> unanswered_ GUARDED_BY(mutex_);
  std::unique_ptr<RpcServer> server_;
};

class StepTracerTest : public ::testing::Test {
 protected:
  // A step that the task has run, or whose part was cancelled.
  void Trace(bool has_answered) {
    StepTracer tracer(peers_, steps_, {kTask}, kStep, {.cancellation = &client_, .stats = &stats_});
    EXPECT_TRUE(steps_.transfers().Keeps(kStep));
    if (has_answered) tracer.PlaceFor(0)->emplace(pb::RunGraphResponse::Descriptor());
    tracer.Finish();
    EXPECT_FALSE(steps_.transfers().Keeps(kStep));
  }

  bool IsOff() {
    return task_.is_off.WaitUntil(clock_, Deadline::After(clock_, std::chrono::seconds(30)));
  }

  SystemClock clock_;
  Task task_;
  WorkerClients peers_{task_.Spec(), "/job:worker/replica:0/task:0"};
  RpcStepTable steps_{peers_, MakeCpuAllocator(), clock_};
  CancellationManager client_;
  StepStats stats_;
};

TEST_F(StepTracerTest, ATaskIsAskedOnceForWhatItHasAndNoMore) {
  Trace(true);
  EXPECT_THAT(task_.asked(), ElementsAre("on 77", "off 77"));
}

TEST_F(StepTracerTest, ATaskWhosePartWasCancelledDoesNotLogForEver) {
  Trace(false);
  ASSERT_TRUE(IsOff());
  EXPECT_THAT(task_.asked(), ElementsAre("on 77", "off 77"));
  EXPECT_THAT(stats_.silent, ElementsAre(kTask));
}

TEST_F(StepTracerTest, AClientThatLeavesDoesNotWaitForATaskThatStandsStill) {
  task_.stands_still = &client_;
  Trace(true);
  EXPECT_THAT(task_.asked(), ElementsAre("on 77", "off 77"));
}

TEST_F(StepTracerTest, ATaskHearsOfTheEndAlsoWhereTheClientHasLeft) {
  client_.Cancel(Cancelled("the client has left"));
  Trace(true);
  EXPECT_TRUE(IsOff());
}

}  // namespace
}  // namespace thalweg
