// SPDX-License-Identifier: Apache-2.0
// A step that waits for others, which are there, end, restart, or never come.
#include "thalweg/cluster/collectives/shared_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "thalweg/base/notification.h"
#include "thalweg/cluster/health/heartbeat_payload.h"
#include "thalweg/cluster/master/remote_device.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kSelf = "/job:worker/replica:0/task:0";
constexpr std::string_view kOther = "/job:worker/replica:0/task:1";
constexpr std::chrono::seconds kStuckAfter{20};

Result<std::vector<std::unique_ptr<Device>>> DeviceOfSelf(const DeviceRequest&) {
  const Result<OwnedMessage> attributes =
      ParseText(pb::DeviceAttributes::Descriptor(),
                StrCat("name: '", kSelf, "/device:CPU:0' device_type: 'CPU' incarnation: 7"));
  std::vector<std::unique_ptr<Device>> devices(1);
  ASSIGN_OR_RETURN(devices[0], RemoteDevice::Make(**attributes));
  return devices;
}

class LastLine : public LogSink {
 public:
  void Write(LogLevel, std::string_view message) override {
    MutexLock lock(mutex_);
    line_ = message;
  }
  std::string line() {
    MutexLock lock(mutex_);
    return line_;
  }

 private:
  Mutex mutex_;
  std::string line_ GUARDED_BY(mutex_);
};

// Another task: it says who it is, and how far a step is, or nothing.
class OtherTask {
 public:
  explicit OtherTask(const std::string& address) {
    Result<std::unique_ptr<RpcServer>> started = RpcServer::Start(
        {.address = address}, [this](const std::shared_ptr<IncomingCall>& call) { Answer(call); });
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    if (started.ok()) server_ = *std::move(started);
  }
  // A server stops when all calls are answered.
  ~OtherTask() {
    MutexLock lock(mutex_);
    for (const auto& call : unanswered_) call->Answer(Unavailable("the test is over"));
  }
  int port() const { return server_->port(); }
  void Stop() { server_->Stop(std::chrono::nanoseconds(0)); }

  std::atomic<int> calls{0};
  std::atomic<bool> has_begun{false};
  std::atomic<bool> has_failed{false};
  std::atomic<bool> is_silent{false};
  std::atomic<bool> refuses{false};  // as if it were not there
  std::atomic<bool> tells{true};     // whether anything moves here
  std::atomic<bool> moves{false};    // something does, between all questions
  std::atomic<int> greetings{0};
  std::atomic<uint64_t> incarnation{8};
  std::atomic<int64_t> told{0};  // the step that has failed

 private:
  void Answer(const std::shared_ptr<IncomingCall>& asked) {
    ++calls;
    IncomingCall& call = *asked;
    if (is_silent) {
      MutexLock lock(mutex_);
      return unanswered_.push_back(asked);
    }
    if (refuses) return call.Answer(Unavailable("connection refused"));
    if (call.method().ends_with("/RecvBuf")) {
      const Result<OwnedMessage> request =
          ParseMessage(pb::RecvBufRequest::Descriptor(), std::string(call.request()));
      ASSERT_TRUE(request.ok() && IsStepWord(**request));
      const Result<StepWord> word = DecodeStepWord(**request);
      ASSERT_TRUE(word.ok());
      EXPECT_EQ(word->task, kSelf);
      if (!word->failed.ok()) told = word->step;
      if (word->step == 0) ++greetings;
      const Status failed =
          has_failed ? FailedOn("/job:worker/task:2", Internal("no")) : OkStatus();
      return call.Answer(Serialize(**EncodeStepReply({.begun = has_begun, .failed = failed})));
    }
    Result<OwnedMessage> status =
        ParseText(pb::GetStatusResponse::Descriptor(),
                  StrCat("device_attributes { name: '", kOther,
                         "/device:CPU:0' device_type: 'CPU' ", "physical_device_desc: '",
                         kOwnDescription, "' incarnation: ", incarnation.load(), " }"));
    ASSERT_TRUE(status.ok());
    if (tells) {
      ASSERT_TRUE(AddHeartbeat({.progress = moves ? ++progress_ : progress_}, status->get()).ok());
    }
    call.Answer(Serialize(**status));
  }

  uint64_t progress_ = 5;  // of one call at a time
  Mutex mutex_;
  std::vector<std::shared_ptr<IncomingCall>> unanswered_ GUARDED_BY(mutex_);
  std::unique_ptr<RpcServer> server_;
};

class SharedStepsTest : public ::testing::Test {
 protected:
  SharedStepsTest() {
    other_.emplace("127.0.0.1:0");
    Registries registries;
    registries.devices = {DeviceOfSelf};
    environment_ =
        *Environment::Create({.threads = 0, .log_sink = &log_, .clock = &clock_}, registries);
    ClusterSpec spec;
    EXPECT_TRUE(spec.Add("worker", 0, "127.0.0.1:1").ok());
    EXPECT_TRUE(spec.Add("worker", 1, StrCat("127.0.0.1:", other_->port())).ok());
    peers_ = std::make_unique<WorkerClients>(spec, std::string(kSelf));
    groups_ = std::make_unique<CollectiveGroups>(*environment_, *peers_);
    shared_ = std::make_unique<SharedSteps>(*environment_, *peers_, *groups_);
  }

  // The watch of a step that waits for the other task: for a buffer, or as its groups say.
  void Wait(bool is_owed = true) {
    Watch();
    watch_->Begin(7, [is_owed] {
      if (!is_owed) return std::vector<SharedSteps::Debt>();
      return std::vector<SharedSteps::Debt>{{std::string(kOther), "a buffer"}};
    });
  }
  // That of one whose number the other task, who leads, has not given yet.
  void Watch() {
    watch_.emplace(*shared_, SharedSteps::Watched{.session = 3, .leader = std::string(kOther)},
                   [this](const Status& why) {
                     why_ = why;
                     ended_.Notify();
                   });
  }
  // Lets time pass until it is so, slowly enough for answers to come before they are missed.
  template <class F>
  bool Comes(F is_so) {
    for (int i = 0; i < 2000; ++i) {
      if (is_so()) return true;
      clock_.Advance(std::chrono::milliseconds(100));
      SystemClock real;
      Notification never;
      (void)never.WaitUntil(real, Deadline::After(real, std::chrono::milliseconds(5)));
    }
    return false;
  }
  bool HasEnded() { return ended_.HasBeenNotified(); }

  FakeClock clock_;
  LastLine log_;
  std::optional<OtherTask> other_;
  std::shared_ptr<Environment> environment_;
  std::unique_ptr<WorkerClients> peers_;
  std::unique_ptr<CollectiveGroups> groups_;
  std::unique_ptr<SharedSteps> shared_;
  Notification ended_;
  Status why_;
  std::optional<SharedSteps::Watch> watch_;
};

TEST_F(SharedStepsTest, ATaskThatEndsIsNamed) {
  Wait();
  ASSERT_TRUE(Comes([&] { return other_->calls >= 2; }));
  EXPECT_FALSE(HasEnded());
  other_->Stop();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kUnavailable);
  EXPECT_THAT(why_.message(), AllOf(HasSubstr(std::string(kOther)), HasSubstr("has ended")));
}

TEST_F(SharedStepsTest, ATaskThatFallsSilentIsNamed) {
  Wait();
  ASSERT_TRUE(Comes([&] { return peers_->KnownVersion(kOther).has_value(); }));
  other_->is_silent = true;
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kUnavailable);
  EXPECT_THAT(why_.message(), AllOf(HasSubstr(std::string(kOther)), HasSubstr("has not answered")));
}

TEST_F(SharedStepsTest, AStepThatHasFailedWhereItIsAskedForEnds) {
  other_->has_failed = true;
  Wait();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kInternal);
  EXPECT_THAT(why_.message(), HasSubstr("has failed on /job:worker/task:2: no"));
}

TEST_F(SharedStepsTest, AMemberThatHasRestartedIsNamed) {
  CollectiveGroups::Answered instance;  // its leader, this task, does not answer
  groups_->set_ask_self([&](std::string_view method, const Message&, CancellationManager*,
                            CollectiveGroups::Answered done) {
    if (method != "CompleteGroup") return std::swap(instance, done);
    Result<OwnedMessage> group =
        ParseText(pb::CompleteGroupResponse::Descriptor(),
                  StrCat("device_attributes { name: '", kSelf, "/device:CPU:0' incarnation: 7 } ",
                         "device_attributes { name: '", kOther, "/device:CPU:0' incarnation: 8 }"));
    done(std::move(group));
  });
  CollectiveCall call;
  call.kind = CollectiveKind::kReduce;
  call.keys = {.group_size = 2, .group_key = 1, .instance_key = 5};
  call.dtype = DType::kFloat;
  call.device = *DeviceName::Parse(StrCat(kSelf, "/device:CPU:0"));
  call.value = Tensor::Vector<float>({1, 2});
  CancellationManager cancellation;
  Notification found;
  groups_->Find(3, std::string(kSelf), call, &cancellation,
                [&](const Result<CollectiveGroups::Found>&) { found.Notify(); });
  ASSERT_TRUE(Comes([&] { return groups_->SoughtBy(3).members.size() == 2; }));
  Wait(/*is_owed=*/false);
  const int calls = other_->calls;
  ASSERT_TRUE(Comes([&] { return other_->calls >= calls + 2; }));
  EXPECT_FALSE(HasEnded());
  other_->incarnation = 9;
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kAborted);
  EXPECT_THAT(why_.message(), AllOf(HasSubstr(std::string(kOther)), HasSubstr("has restarted")));
  instance(Cancelled("the step has ended"));
  found.Wait();
}

TEST_F(SharedStepsTest, WhatATaskToldBeforeItEndedIsSaid) {
  shared_->Hear({.step = 6, .task = std::string(kOther), .failed = Internal("a bad record")});
  other_->Stop();
  Wait();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_THAT(why_.message(), HasSubstr("a bad record"));
}

TEST_F(SharedStepsTest, ATaskThatHasNeverAnsweredIsWaitedForAndNamedInTheLog) {
  other_->Stop();
  Wait();
  ASSERT_TRUE(Comes([&] { return !log_.line().empty(); }));
  EXPECT_THAT(log_.line(), AllOf(HasSubstr(std::string(kSelf)), HasSubstr(std::string(kOther)),
                                 HasSubstr("does not answer")));
  EXPECT_FALSE(HasEnded());
}

TEST_F(SharedStepsTest, TheLogSaysWhoHasNotBegunAndWhatIsOwed) {
  Wait();
  ASSERT_TRUE(Comes([&] { return log_.line().find("has not begun it") != std::string::npos; }));
  EXPECT_THAT(log_.line(), HasSubstr(std::string(kOther)));
  other_->has_begun = true;
  ASSERT_TRUE(Comes([&] { return log_.line().find("a buffer of") != std::string::npos; }));
  EXPECT_FALSE(HasEnded());
}

// As a step of one master is (HeartbeatTableTest), with the same words.
TEST_F(SharedStepsTest, AStepInWhichNothingMovesIsStuck) {
  shared_->WatchProgress(kStuckAfter, [] { return 3; });
  Wait();
  const Clock::TimePoint begun = clock_.Now();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_GE(clock_.Now() - begun, kStuckAfter);
  EXPECT_EQ(why_.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(why_.message(),
              AllOf(HasSubstr("the step is stuck: no node ended and no value moved in any task"),
                    HasSubstr(std::string(kOther)), HasSubstr("has not begun it")));
}

TEST_F(SharedStepsTest, AStepIsNotStuckWhileAnythingMovesInAnyTask) {
  std::atomic<uint64_t> own{3};
  std::atomic<bool> moves{false};
  shared_->WatchProgress(kStuckAfter, [&] { return moves ? ++own : own.load(); });
  other_->moves = true;
  Wait();
  const auto passes = [&](std::chrono::seconds span) {
    const Clock::TimePoint until = clock_.Now() + span;
    return Comes([&] { return HasEnded() || clock_.Now() >= until; }) && !HasEnded();
  };
  EXPECT_TRUE(passes(2 * kStuckAfter));  // there
  moves = true;
  other_->moves = false;
  EXPECT_TRUE(passes(2 * kStuckAfter));  // here
  moves = false;
  other_->tells = false;
  EXPECT_TRUE(passes(2 * kStuckAfter));  // nobody knows
  other_->tells = true;
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kDeadlineExceeded);
}

TEST_F(SharedStepsTest, ProgressIsNotReadWhereNoStepCanBeStuck) {
  std::atomic<int> reads{0};
  shared_->WatchProgress(std::chrono::milliseconds(0), [&] { return ++reads; });
  Wait();
  const Clock::TimePoint until = clock_.Now() + kStuckAfter;
  ASSERT_TRUE(Comes([&] { return clock_.Now() >= until; }));
  EXPECT_EQ(reads, 0);
}

TEST_F(SharedStepsTest, WhoHasNeverAnsweredMakesNoStepStuck) {
  shared_->WatchProgress(kStuckAfter, [] { return 3; });
  other_->Stop();
  Wait();
  const Clock::TimePoint until = clock_.Now() + 2 * kStuckAfter;
  ASSERT_TRUE(Comes([&] { return clock_.Now() >= until; }));
  EXPECT_FALSE(HasEnded());
}

TEST_F(SharedStepsTest, WhoWasGreetedIsMissedWhenItHasEnded) {
  shared_->Greet();
  ASSERT_TRUE(Comes([&] { return other_->greetings == 1; }));
  other_->Stop();
  Wait();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kUnavailable);
  EXPECT_THAT(why_.message(), AllOf(HasSubstr(std::string(kOther)), HasSubstr("has ended")));
}

TEST_F(SharedStepsTest, WhoHasGreetedIsMissedWhenItHasEnded) {
  shared_->Hear({.step = 0, .task = std::string(kOther)});
  other_->Stop();
  Wait();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kUnavailable);
}

TEST_F(SharedStepsTest, WhoGreetsAfterItWasWaitedForIsThere) {
  other_->refuses = true;
  Wait();
  ASSERT_TRUE(Comes([&] { return other_->calls >= 4; }));
  shared_->Hear({.step = 0, .task = std::string(kOther)});
  other_->refuses = false;
  const int calls = other_->calls;
  ASSERT_TRUE(Comes([&] { return other_->calls >= calls + 4; }));
  EXPECT_FALSE(HasEnded());
}

TEST_F(SharedStepsTest, WhoHasGreetedAndNeverAnsweredHasTimeTo) {
  shared_->Hear({.step = 0, .task = std::string(kOther)});
  other_->refuses = true;
  const Clock::TimePoint begun = clock_.Now();
  Wait();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_GE(clock_.Now() - begun, std::chrono::seconds(10));
}

TEST_F(SharedStepsTest, ALeaderThatHasEndedGivesNoNumber) {
  shared_->Hear({.step = 0, .task = std::string(kOther)});
  other_->Stop();
  Watch();
  ASSERT_TRUE(Comes([&] { return HasEnded(); }));
  ended_.Wait();
  EXPECT_EQ(why_.code(), Code::kUnavailable);
  EXPECT_THAT(why_.message(), AllOf(HasSubstr(std::string(kOther)), HasSubstr("has ended")));
}

TEST_F(SharedStepsTest, OthersAreToldOfAFailure) {
  Notification told;
  shared_->Tell({.step = 9, .failed = Internal("too bad")}, 3, [&] { told.Notify(); });
  told.Wait();
  EXPECT_EQ(other_->told, 9);
  // Who is not there is not waited for.
  other_->Stop();
  Notification again;
  shared_->Tell({.step = 10, .failed = Internal("too bad")}, 3, [&] { again.Notify(); });
  ASSERT_TRUE(Comes([&] { return again.HasBeenNotified(); }));
  again.Wait();
}

}  // namespace
}  // namespace thalweg
