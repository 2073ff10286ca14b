// SPDX-License-Identifier: Apache-2.0
// CompleteGroup, CompleteInstance and RecvBuf of a worker, by messages as other tasks send them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "thalweg/base/notification.h"
#include "thalweg/cluster/collectives/collective_member.h"
#include "thalweg/cluster/collectives/step_word.h"
#include "thalweg/cluster/master/remote_device.h"
#include "thalweg/cluster/worker/worker.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTask = "/job:worker/replica:0/task:";
constexpr uint64_t kIncarnation = 77;

std::string DeviceOf(int task) { return StrCat(kTask, task, "/device:CPU:0"); }

Result<std::vector<std::unique_ptr<Device>>> OneDevice(const DeviceRequest&) {
  const Result<OwnedMessage> attributes =
      ParseText(pb::DeviceAttributes::Descriptor(),
                StrCat("name: '", DeviceOf(0), "' device_type: 'CPU' incarnation: 77"));
  EXPECT_TRUE(attributes.ok()) << attributes.status().ToString();
  std::vector<std::unique_ptr<Device>> devices(1);
  ASSIGN_OR_RETURN(devices[0], RemoteDevice::Make(**attributes));
  return devices;
}

template <class T>
Tensor Row(const std::vector<T>& values) {
  return Tensor::Of<T>(values, Shape{static_cast<int64_t>(values.size())});
}

// A call of another task, which may wait; who drops it has gone.
struct AskedCall {
  ~AskedCall() { cancellation.Cancel(); }

  CancellationManager cancellation;
  Notification answered;
  std::optional<Result<OwnedMessage>> answer;

  bool waits() const { return !answer.has_value(); }
  Status status() {
    answered.Wait();
    return answer->status();
  }
  const Message& response() {
    const Status ended = status();
    EXPECT_TRUE(ended.ok()) << ended.ToString();
    return ***answer;
  }
};
using Asked = std::unique_ptr<AskedCall>;

class CollectiveMethodsTest : public ::testing::Test {
 protected:
  CollectiveMethodsTest() {
    Registries registries;
    registries.devices = {OneDevice};
    Result<std::shared_ptr<Environment>> made =
        Environment::Create({.threads = 0, .clock = &clock_}, registries);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    environment_ = *std::move(made);
    peers_ = std::make_unique<WorkerClients>(ClusterSpec(), StrCat(kTask, 0));
    steps_ = std::make_unique<StepService>(environment_->allocator(), clock_, kIncarnation);
    channels_ = std::make_unique<ChannelManager>(*peers_, *steps_, ChannelUse::kNone);
    worker_ = std::make_unique<Worker>(environment_, *peers_, *channels_);
  }
  ~CollectiveMethodsTest() override { worker_->health().Stop(); }

  Asked Ask(std::string_view method, const Message& request) {
    auto call = std::make_unique<AskedCall>();
    worker_->Call(method, request, {.cancellation = &call->cancellation},
                  [asked = call.get()](Result<OwnedMessage> answer) {
                    asked->answer.emplace(std::move(answer));
                    asked->answered.Notify();
                  });
    return call;
  }
  Asked Ask(std::string_view method, const std::string& text) {
    const Result<OwnedMessage> request = ParseText(*Worker::RequestType(method), text);
    EXPECT_TRUE(request.ok()) << request.status().ToString();
    return Ask(method, **request);
  }
  Asked AskGroup(int task, int size = 2) {
    return Ask("CompleteGroup", StrCat("group_key: 1 group_size: ", size,
                                       " device_type: 'CPU' device_name: '", DeviceOf(task), "'"));
  }
  Asked AskInstance(int task, std::string_view more, int columns = 3) {
    return Ask("CompleteInstance",
               StrCat("data_type: DT_FLOAT shape { dim { size: ", columns,
                      " } } group_key: 1 group_size: 2 instance_key: 5 device_type: 'CPU' "
                      "device: '",
                      DeviceOf(task), "' ", more));
  }
  Asked AskBuffer(std::string_view more) {
    return Ask("RecvBuf", StrCat("step_id: 9 buf_rendezvous_key: '1:0:0:0:0:0' num_bytes: 12 "
                                 "src_device: '",
                                 DeviceOf(0), "' dst_device: '", DeviceOf(1), "' ", more));
  }
  // A member of another task of ours.
  static CollectiveMember MemberOf(int task, const std::vector<float>& value) {
    CollectiveMember member;
    member.step = "calls:9";
    member.call.keys = {2, 1, 5};
    member.call.dtype = DType::kFloat;
    member.call.value = Row<float>(value);
    member.call.shape = member.call.value.shape();
    member.call.device = *DeviceName::Parse(DeviceOf(task));
    return member;
  }
  Asked AskMember(const CollectiveMember& member) {
    const Result<OwnedMessage> request = EncodeCollectiveMember(member);
    EXPECT_TRUE(request.ok()) << request.status().ToString();
    return Ask("RecvBuf", **request);
  }
  static std::vector<float> ResultOf(const Asked& asked, const CollectiveMember& member) {
    const Result<Tensor> result = DecodeCollectiveResult(asked->response(), member.call, nullptr);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    if (!result.ok()) return {};
    const auto values = result->flat<float>();
    return {values.begin(), values.end()};
  }
  static void ExpectError(const Asked& asked, Code code, std::string_view part) {
    ASSERT_FALSE(asked->waits());
    EXPECT_EQ(asked->status().code(), code) << asked->status().ToString();
    EXPECT_THAT(asked->status().message(), HasSubstr(std::string(part)));
  }

  FakeClock clock_;
  std::shared_ptr<Environment> environment_;
  std::unique_ptr<WorkerClients> peers_;
  std::unique_ptr<StepService> steps_;
  std::unique_ptr<ChannelManager> channels_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(CollectiveMethodsTest, AGroupIsKnownWhenAllHaveCome) {
  const Asked second = AskGroup(1);
  EXPECT_TRUE(second->waits());
  const Asked again = AskGroup(1);  // the same request once more: no other member
  EXPECT_TRUE(again->waits());
  const Asked first = AskGroup(0);
  namespace Response = pb::CompleteGroupResponse;
  for (const Asked* asked : {&second, &again, &first}) {
    const Message& group = (*asked)->response();
    EXPECT_EQ(group.GetInt(Response::kGroupSize), 2);
    EXPECT_EQ(group.GetInt(Response::kNumTasks), 2);
    const auto names = group.Repeated<std::string_view>(Response::kDeviceName);
    EXPECT_THAT(std::vector<std::string_view>(names.begin(), names.end()),
                ElementsAre(DeviceOf(0), DeviceOf(1)));
    const auto tasks = group.Repeated<std::string_view>(Response::kTaskName);
    EXPECT_THAT(std::vector<std::string_view>(tasks.begin(), tasks.end()),
                ElementsAre(StrCat(kTask, 0), StrCat(kTask, 1)));
  }
  EXPECT_TRUE(AskGroup(1)->status().ok());  // a task that has restarted
  ExpectError(AskGroup(2), Code::kInvalidArgument, "none of the 2 members of group 1");
}

TEST_F(CollectiveMethodsTest, AGroupOfARelease221SaysWhatItsDevicesAre) {
  const auto ask = [&](int task) {
    return Ask("CompleteGroup",
               StrCat("group_key: 1 group_size: 2 device_type: 'CPU' device_attributes { name: '",
                      DeviceOf(task), "' incarnation: ", 10 + task, " }"));
  };
  const Asked second = ask(1), first = ask(0);
  const auto devices = first->response().Messages(pb::CompleteGroupResponse::kDeviceAttributes);
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[1]->GetUint(pb::DeviceAttributes::kIncarnation), 11);
  EXPECT_TRUE(second->status().ok());
}

TEST_F(CollectiveMethodsTest, WhoContradictsAGroupEndsItForAll) {
  const Asked waits = AskGroup(1);
  ExpectError(AskGroup(0, 3), Code::kInvalidArgument, "group 1 has 2 members");
  ExpectError(waits, Code::kInvalidArgument, "says 3");
  const Asked once_more = AskGroup(1);
  EXPECT_TRUE(AskGroup(0)->status().ok());
  EXPECT_TRUE(once_more->status().ok());
  ExpectError(Ask("CompleteGroup", "group_key: 2 group_size: 0"), Code::kInvalidArgument, "got 0");
  ExpectError(Ask("CompleteGroup", "group_key: 2 group_size: 1 device_name: 'x'"),
              Code::kInvalidArgument, "full names");
}

TEST_F(CollectiveMethodsTest, AMemberWhoseCallHasEndedDoesNotCount) {
  const Asked gone = AskGroup(2);
  gone->cancellation.Cancel();
  EXPECT_EQ(gone->status().code(), Code::kCancelled);
  const Asked first = AskGroup(0);
  EXPECT_TRUE(first->waits());
  EXPECT_TRUE(AskGroup(1)->status().ok());
  EXPECT_TRUE(first->status().ok());
}

TEST_F(CollectiveMethodsTest, GroupsThatNobodyAsksForMakeRoom) {
  const auto ask = [&](int key, int size) {
    return Ask("CompleteGroup", StrCat("group_key: ", key, " group_size: ", size,
                                       " device_type: 'CPU' device_name: '", DeviceOf(0), "'"));
  };
  const Asked waits = ask(1, 2);
  for (int key = 2; key <= 10'000; ++key) ASSERT_TRUE(ask(key, 1)->status().ok());
  EXPECT_TRUE(ask(2, 1)->status().ok());       // now the newest
  EXPECT_TRUE(ask(20'000, 1)->status().ok());  // 3 makes room
  EXPECT_TRUE(waits->waits());
  ExpectError(ask(2, 3), Code::kInvalidArgument, "group 2 has 1 members");
  EXPECT_TRUE(ask(3, 2)->waits());  // a new group; 4 makes room
  ExpectError(ask(5, 3), Code::kInvalidArgument, "group 5 has 1 members");
}

TEST_F(CollectiveMethodsTest, AnInstanceNeedsItsGroupAndKnowsItsSource) {
  ExpectError(AskInstance(0, ""), Code::kFailedPrecondition, "CompleteGroup comes first");
  const Asked group = AskGroup(1);
  ASSERT_TRUE(AskGroup(0)->status().ok());
  ExpectError(AskInstance(2, ""), Code::kInvalidArgument, "none of the members");
  const Asked first = AskInstance(0, "");
  EXPECT_TRUE(first->waits());
  const Asked second = AskInstance(1, "is_source: true");
  namespace Response = pb::CompleteInstanceResponse;
  for (const Asked* asked : {&first, &second}) {
    EXPECT_EQ((*asked)->response().GetInt(Response::kInstanceKey), 5);
    EXPECT_EQ((*asked)->response().GetInt(Response::kSourceRank), 1);
  }
  EXPECT_TRUE(AskInstance(0, "")->status().ok());  // the same once more
  // A step of its own is another instance.
  EXPECT_TRUE(AskInstance(0, "step_id: 3")->waits());
}

TEST_F(CollectiveMethodsTest, WhoContradictsAnInstanceEndsItForAll) {
  const Asked group = AskGroup(1);
  ASSERT_TRUE(AskGroup(0)->status().ok());
  const auto contradict = [&](std::string_view more, int columns, std::string_view part) {
    const Asked waits = AskInstance(0, "is_source: true");
    EXPECT_TRUE(waits->waits());
    ExpectError(AskInstance(1, more, columns), Code::kInvalidArgument, part);
    ExpectError(waits, Code::kInvalidArgument, part);
  };
  contradict("", 4, "says shape [4], others [3]");
  contradict("type: 1", 3, "says kind 1, others 0");
  contradict("is_source: true", 3, "two sources");
  const Asked first = AskInstance(0, "");
  EXPECT_EQ(AskInstance(1, "")->response().GetInt(pb::CompleteInstanceResponse::kSourceRank), -1);
  EXPECT_TRUE(first->status().ok());
}

TEST_F(CollectiveMethodsTest, ABufferIsWaitedFor) {
  const Asked asked = AskBuffer("src_incarnation: 77 request_id: 4");
  EXPECT_TRUE(asked->waits());
  ExpectError(AskBuffer("src_incarnation: 77 request_id: 4"), Code::kAborted, "asked for already");
  const RendezvousKey key{.source = DeviceOf(0),
                          .incarnation = kIncarnation,
                          .destination = DeviceOf(1),
                          .edge = "buffer 1:0:0:0:0:0",
                          .tag = 0};
  const std::shared_ptr<RpcStepRendezvous> step = *worker_->steps().Find(9);
  ASSERT_TRUE(step->Send(key, {Row<float>({1, 2, 3}), false}).ok());
  namespace Response = pb::RecvBufResponse;
  const Message& options = asked->response().GetMessage(Response::kTransportOptions);
  EXPECT_EQ(options.GetString(pb::Any::kTypeUrl),
            "type.googleapis.com/tensorflow.RecvBufRespExtra");
  const Result<OwnedMessage> extra =
      ParseMessage(pb::RecvBufRespExtra::Descriptor(), options.GetString(pb::Any::kValue));
  ASSERT_TRUE(extra.ok());
  const auto content = (*extra)->Repeated<std::string_view>(pb::RecvBufRespExtra::kTensorContent);
  ASSERT_EQ(content.size(), 1);
  EXPECT_EQ(content[0], std::string_view("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12));
}

TEST_F(CollectiveMethodsTest, ABufferThatCannotCome) {
  ExpectError(AskBuffer("src_incarnation: 5"), Code::kAborted, "has restarted");
  ExpectError(Ask("RecvBuf", "src_device: '/job:x/replica:0/task:0/device:CPU:0'"), Code::kAborted,
              "has no device");
  ExpectError(Ask("RecvBuf", "src_device: '/job:worker/replica:0/task:0/device:CPU:9'"),
              Code::kInvalidArgument, "has no device");
  const Asked cancelled = AskBuffer("src_incarnation: 77");
  cancelled->cancellation.Cancel();
  EXPECT_EQ(cancelled->status().code(), Code::kCancelled);
  const Asked ended =
      Ask("RecvBuf", StrCat("step_id: 8 src_incarnation: 77 src_device: '", DeviceOf(0), "'"));
  EXPECT_TRUE(ended->waits());
  worker_->steps().Erase(8, Aborted("the step is over"));
  ExpectError(ended, Code::kAborted, "the step is over");
}

TEST_F(CollectiveMethodsTest, AStepThatHasFailedElsewhereFailsHere) {
  const auto tell = [&](int64_t step, const Status& failed) {
    return Ask("RecvBuf",
               **EncodeStepWord({.step = step, .task = StrCat(kTask, 1), .failed = failed}));
  };
  const auto state = [&](int64_t step) {
    return *DecodeStepReply(tell(step, OkStatus())->response());
  };
  EXPECT_FALSE(state(9).begun);
  const std::shared_ptr<RpcStepRendezvous> step = *worker_->steps().Begin(9, "s", nullptr);
  EXPECT_TRUE(state(9).begun);
  const Asked waits = AskBuffer("src_incarnation: 77");
  const Status why = FailedOn(StrCat(kTask, 1), OutOfRange("End of sequence"));
  EXPECT_TRUE(tell(9, why)->status().ok());
  ExpectError(waits, Code::kOutOfRange, "has failed on /job:worker/replica:0/task:1: End of");
  EXPECT_EQ(step->cancellation().Reason().code(), Code::kOutOfRange);
  EXPECT_TRUE(step->was_told());
  // One that has not begun here does not begin.
  EXPECT_TRUE(tell(10, why)->status().ok());
  EXPECT_EQ(worker_->steps().Begin(10, "s", nullptr).status().code(), Code::kOutOfRange);
  EXPECT_EQ(state(10).failed.code(), Code::kOutOfRange);
}

TEST(StepWordTest, WhatHasFailedOnAnotherTaskStaysItsFailure) {
  const Status first = FailedOn(StrCat(kTask, 0), OutOfRange("End of sequence"));
  const Status second =
      FailedOn(StrCat(kTask, 1), OutOfRange("RecvBuf on ", kTask, "0: ", first.message()));
  EXPECT_EQ(second.message(), first.message());
  EXPECT_EQ(second.code(), Code::kOutOfRange);
}

TEST_F(CollectiveMethodsTest, BuffersOfAFailedStepAreRefusedWhenTheOthersAreTold) {
  const std::shared_ptr<RpcStepRendezvous> step = *worker_->steps().Begin(9, "s", nullptr);
  step->Share();
  const Asked before = AskBuffer("src_incarnation: 77");
  step->Abort(Internal("a detail"));
  const Asked after = AskBuffer("src_incarnation: 77");
  EXPECT_TRUE(before->waits());
  EXPECT_TRUE(after->waits());
  const Status why = FailedOn(StrCat(kTask, 0), OutOfRange("End of sequence"));
  step->LetGo(why);
  for (const Asked* asked : {&before, &after}) {
    ExpectError(*asked, Code::kOutOfRange, "End of sequence");
  }
  worker_->steps().Erase(9, Cancelled("step 9 has ended"), why);
  ExpectError(AskBuffer("src_incarnation: 77"), Code::kOutOfRange, "End of sequence");
}

TEST_F(CollectiveMethodsTest, AMemberThatHasRestartedEndsTheStepsOfItsFormerLife) {
  const auto ask = [&](int task, int incarnation) {
    return Ask("CompleteGroup",
               StrCat("group_key: 1 group_size: 2 device_type: 'CPU' device_attributes { name: '",
                      DeviceOf(task), "' incarnation: ", incarnation, " }"));
  };
  const Asked second = ask(1, 11), first = ask(0, 10);
  ASSERT_TRUE(second->status().ok());
  const std::shared_ptr<RpcStepRendezvous> step = *worker_->steps().Begin(9, "s", nullptr);
  step->Share();
  EXPECT_TRUE(ask(1, 11)->status().ok());  // another session of the same task
  EXPECT_TRUE(step->cancellation().Reason().ok());
  EXPECT_TRUE(ask(1, 12)->status().ok());
  EXPECT_EQ(step->cancellation().Reason().code(), Code::kAborted);
  EXPECT_THAT(step->cancellation().Reason().message(),
              HasSubstr("/job:worker/replica:0/task:1 has restarted"));
}

TEST_F(CollectiveMethodsTest, WordsThatCannotBeRead) {
  const Result<OwnedMessage> whole =
      EncodeStepWord({.step = 9, .task = StrCat(kTask, 1), .failed = Internal("no")});
  namespace Request = pb::RecvBufRequest;
  const std::string bytes(
      (*whole)->GetMessage(Request::kTransportOptions).GetString(pb::Any::kValue));
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    OwnedMessage cut = Clone(**whole);
    cut->Mutable(Request::kTransportOptions)
        ->SetString(pb::Any::kValue, std::string_view(bytes).substr(0, size));
    refused += DecodeStepWord(*cut).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 30);
}

TEST_F(CollectiveMethodsTest, MembersOfOtherTasksGetTheMergedValue) {
  const CollectiveMember first = MemberOf(1, {1, 2}), second = MemberOf(10, {10, 20});
  const Asked one = AskMember(first);
  EXPECT_TRUE(one->waits());
  const Asked two = AskMember(second);
  EXPECT_THAT(ResultOf(one, first), ElementsAre(11, 22));
  EXPECT_THAT(ResultOf(two, second), ElementsAre(11, 22));
  ExpectError(AskMember(first), Code::kInvalidArgument, "one too many");
  // Ranks are numbers, not texts: 2 comes before 10.
  CollectiveMember last = MemberOf(10, {3}), before = MemberOf(2, {4});
  for (CollectiveMember* member : {&last, &before}) {
    member->step = "calls:10";
    member->call.kind = CollectiveKind::kGather;
  }
  const Asked of_last = AskMember(last);
  EXPECT_THAT(ResultOf(AskMember(before), before), ElementsAre(4, 3));
  EXPECT_THAT(ResultOf(of_last, last), ElementsAre(4, 3));
}

TEST_F(CollectiveMethodsTest, MembersThatContradictEachOther) {
  int step = 0;
  const auto contradict = [&](std::string_view part, auto change) {
    CollectiveMember first = MemberOf(0, {1, 2}), second = MemberOf(1, {3, 4});
    first.step = second.step = StrCat("calls:", ++step);
    change(second.call);
    const Asked waits = AskMember(first);
    ExpectError(AskMember(second), Code::kInvalidArgument, part);
    ExpectError(waits, Code::kInvalidArgument, part);
  };
  contradict("Shape mismatch", [](CollectiveCall& call) { call.value = Row<float>({1}); });
  contradict("merge", [](CollectiveCall& call) { call.merge = compute::BinaryOp::kMaximum; });
  contradict("group size", [](CollectiveCall& call) { call.keys.group_size = 3; });
  contradict("type", [](CollectiveCall& call) {
    call.dtype = DType::kInt32;
    call.value = Row<int32_t>({1, 2});
  });
  contradict("comes twice",
             [](CollectiveCall& call) { call.device = *DeviceName::Parse(DeviceOf(0)); });
}

TEST_F(CollectiveMethodsTest, AMemberThatLeavesIsNamedToTheOthers) {
  const Asked stays = AskMember(MemberOf(1, {1}));
  CollectiveMember leaving = MemberOf(2, {1});
  leaving.call.keys.group_size = 2;
  CollectiveMember of_three = MemberOf(3, {1}), fourth = MemberOf(4, {1});
  of_three.step = fourth.step = "calls:11";
  of_three.call.keys.group_size = fourth.call.keys.group_size = 3;
  const Asked third = AskMember(of_three), gone = AskMember(fourth);
  gone->cancellation.Cancel(Cancelled("the connection was cut"));
  EXPECT_EQ(gone->status().code(), Code::kCancelled);
  EXPECT_TRUE(third->waits());  // its master may know more
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(third->status().code(), Code::kUnavailable);
  EXPECT_THAT(third->status().message(), HasSubstr(StrCat(kTask, 4)));
  EXPECT_TRUE(stays->waits());
  EXPECT_TRUE(AskMember(leaving)->status().ok());
  EXPECT_TRUE(stays->status().ok());
}

TEST_F(CollectiveMethodsTest, ATimeoutIsEverybodys) {
  CollectiveMember hurried = MemberOf(1, {1});
  hurried.call.keys.group_size = 3;
  CollectiveMember patient = MemberOf(2, {1});
  patient.call.keys.group_size = 3;
  hurried.timeout_seconds = 0.5;
  const Asked first = AskMember(patient), second = AskMember(hurried);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(first->status().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(second->status().message(), HasSubstr("2 of 3 members are here"));
}

TEST_F(CollectiveMethodsTest, MembersThatNobodySendsAreRefused) {
  const auto refuse = [&](std::string_view part, auto change) {
    CollectiveMember member = MemberOf(0, {1, 2});
    change(member);
    ExpectError(AskMember(member), Code::kInvalidArgument, part);
  };
  refuse("no step", [](CollectiveMember& m) { m.step = ""; });
  refuse("group_size", [](CollectiveMember& m) { m.call.keys.group_size = 0; });
  refuse("not on a device", [](CollectiveMember& m) { m.call.device.index.reset(); });
  refuse("brings no value", [](CollectiveMember& m) { m.call.value = Tensor(); });
  refuse("says", [](CollectiveMember& m) { m.call.dtype = DType::kDouble; });
  refuse("no elements of type", [](CollectiveMember& m) { m.call.dtype = DType::kString; });
  refuse("equal to the group's size", [](CollectiveMember& m) {
    m.call.kind = CollectiveKind::kAllToAll;
    m.call.keys.group_size = 3;
  });
  // Any part of a good one is good, or an error.
  const Result<OwnedMessage> whole = EncodeCollectiveMember(MemberOf(0, {1, 2}));
  namespace Request = pb::RecvBufRequest;
  const std::string bytes(
      (*whole)->GetMessage(Request::kTransportOptions).GetString(pb::Any::kValue));
  for (size_t size = 0; size < bytes.size(); ++size) {
    OwnedMessage cut = Clone(**whole);
    cut->Mutable(Request::kTransportOptions)
        ->SetString(pb::Any::kValue, std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(DecodeCollectiveMember(*cut, nullptr).ok()) << size;
  }
}

}  // namespace
}  // namespace thalweg
