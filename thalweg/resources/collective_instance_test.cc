// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/collective_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/kernel/test_step.h"
#include "thalweg/resources/test_collective.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CollectiveInstanceTest : public testing::Test {
 protected:
  void Join(TestCall& call, CollectiveCall what, CollectiveJoinOptions join = {}) {
    join.instances = &step_.step_resources;
    const auto instance =
        CollectiveInstance::At(step_.step_resources, what.keys, call.context().tag());
    ASSERT_TRUE(instance.ok()) << instance.status().ToString();
    (*instance)->Join(std::move(join), call.context(), std::move(what), call.done());
  }
  // Two members of which the second differs as `change` says; what both hear.
  std::string Contradiction(const std::function<void(CollectiveCall&)>& change) {
    TestStep own;
    TestCall one(own), two(own);
    CollectiveCall first = MemberCall(0, 2, Tensor::Vector<float>({1}));
    CollectiveCall second = MemberCall(1, 2, Tensor::Vector<float>({1}));
    change(second);
    const auto at = [&] { return *CollectiveInstance::At(own.step_resources, first.keys, 0); };
    at()->Join({.instances = &own.step_resources}, one.context(), first, one.done());
    EXPECT_FALSE(one.ended());
    at()->Join({.instances = &own.step_resources}, two.context(), second, two.done());
    EXPECT_EQ(one.Await().code(), Code::kInvalidArgument);
    EXPECT_EQ(one.Await().message(), two.Await().message()) << "one error for all";
    return std::string(one.Await().message());
  }
  static CollectiveCall Sum(int device, float value, int64_t size = 2) {
    return MemberCall(device, size, Tensor::Vector<float>({value}));
  }

  TestStep step_;
};

TEST_F(CollectiveInstanceTest, TheLastMemberBringsTheResultsForAll) {
  TestCall one(step_), two(step_), three(step_);
  Join(one, Sum(0, 1, 3)), Join(two, Sum(1, 20, 3));
  EXPECT_FALSE(one.ended() || two.ended());
  Join(three, Sum(2, 300, 3));
  for (TestCall* call : {&one, &two, &three}) {
    ASSERT_TRUE(call->Await().ok());
    EXPECT_EQ(call->output().data<float>()[0], 321);
  }
}

TEST_F(CollectiveInstanceTest, RanksGoByDeviceAndNumbersCountAsNumbers) {
  TestCall ten(step_), two(step_);
  const auto gather = [](int device, float value) {
    CollectiveCall call = Sum(device, value);
    call.kind = CollectiveKind::kGather;
    return call;
  };
  Join(ten, gather(10, 1)), Join(two, gather(2, 5));
  ASSERT_TRUE(ten.Await().ok());
  EXPECT_EQ(ElementsOf<float>(ten.output()), (std::vector<float>{5, 1})) << "CPU:2 before CPU:10";
}

TEST_F(CollectiveInstanceTest, MembersThatContradictEachOtherAreNamed) {
  EXPECT_THAT(Contradiction([](auto& c) { c.kind = CollectiveKind::kGather; }),
              AllOf(HasSubstr("device:CPU:1 has kind gather"), HasSubstr("CPU:0 reduction")));
  EXPECT_THAT(Contradiction([](auto& c) { c.keys.group_size = 3; }), HasSubstr("has group size 3"));
  EXPECT_THAT(Contradiction([](auto& c) { c.dtype = DType::kDouble; }),
              HasSubstr("has type float64"));
  EXPECT_THAT(Contradiction([](auto& c) { c.merge = compute::BinaryOp::kMul; }),
              HasSubstr("has merge Mul"));
  EXPECT_THAT(Contradiction([](auto& c) { c.is_mean = true; }),
              HasSubstr("has final operation Div"));
  EXPECT_THAT(Contradiction([](auto& c) { c.shape = PartialShape{2}; }),
              AllOf(HasSubstr("Shape mismatch in the collective instance 7"), HasSubstr("[2]")));
  EXPECT_THAT(Contradiction([](auto& c) { c.device = Sum(0, 1).device; }),
              HasSubstr("comes twice to group 1, instance 7"));
}

TEST_F(CollectiveInstanceTest, ABroadcastNeedsJustOneSender) {
  for (const int senders : {0, 2}) {
    TestStep own;
    TestCall one(own), two(own);
    for (TestCall* call : {&one, &two}) {
      CollectiveCall what =
          MemberCall(call == &one ? 0 : 1, 2, senders == 0 ? Tensor() : Tensor::Vector<float>({1}));
      what.kind = CollectiveKind::kBroadcast;
      const auto at = *CollectiveInstance::At(own.step_resources, what.keys, 0);
      at->Join({.instances = &own.step_resources}, call->context(), std::move(what), call->done());
    }
    EXPECT_THAT(std::string(one.Await().message()),
                HasSubstr(StrCat("has ", senders, " among 2 members")));
  }
}

TEST_F(CollectiveInstanceTest, AMemberTooManyIsRefusedAlone) {
  TestCall one(step_), two(step_), late(step_);
  Join(one, Sum(0, 1)), Join(two, Sum(1, 2)), Join(late, Sum(2, 3));
  EXPECT_TRUE(one.Await().ok() && two.Await().ok());
  EXPECT_THAT(std::string(late.Await().message()), HasSubstr("CPU:2 is one too many: 2 members"));
}

TEST_F(CollectiveInstanceTest, TheFirstErrorIsAlsoThatOfWhoComesLater) {
  TestCall early(step_), late(step_);
  Join(early, Sum(0, 1));
  const auto instance = *CollectiveInstance::At(step_.step_resources, Sum(0, 1).keys, 0);
  instance->Fail(Unavailable("a task has gone"));
  instance->Fail(Internal("later"));
  EXPECT_EQ(early.Await().message(), "a task has gone");
  Join(late, Sum(1, 1));
  EXPECT_EQ(late.Await().message(), "a task has gone");
}

TEST_F(CollectiveInstanceTest, AFailureAfterAllHaveMetChangesNothing) {
  TestCall one(step_), two(step_), late(step_);
  Join(one, Sum(0, 1)), Join(two, Sum(1, 2));
  (*CollectiveInstance::At(step_.step_resources, Sum(0, 1).keys, 0))->Fail(Internal("failed"));
  EXPECT_TRUE(one.Await().ok() && two.Await().ok());
  Join(late, Sum(2, 3));
  EXPECT_THAT(std::string(late.Await().message()), HasSubstr("one too many"));
}

TEST_F(CollectiveInstanceTest, ACancelledMemberEndsTheOthersUnlessItMayLeave) {
  TestStep cancelled, leaves;
  TestCall one(cancelled), two(step_);
  Join(one, Sum(0, 1, 3)), Join(two, Sum(1, 1, 3));
  cancelled.cancellation.Cancel(Cancelled("stop"));
  EXPECT_EQ(one.Await().message(), "stop");
  EXPECT_EQ(two.Await().message(), "stop");

  TestCall guest(leaves, {}, 1, 5), stays(step_, {}, 1, 5);
  Join(guest, Sum(0, 1, 3), {.may_leave = true}), Join(stays, Sum(1, 1, 3));
  leaves.cancellation.Cancel(Cancelled("left"));
  EXPECT_EQ(guest.Await().message(), "left");
  EXPECT_FALSE(stays.ended());
  (*CollectiveInstance::At(step_.step_resources, Sum(0, 1).keys, 5))->Fail(Aborted("the reason"));
  EXPECT_EQ(stays.Await().message(), "the reason");
}

TEST_F(CollectiveInstanceTest, ATimeoutNamesWhoIsThere) {
  FakeClock clock;
  Timer timer(clock);
  TestCall one(step_), two(step_);
  const CollectiveJoinOptions join{.timeout_seconds = 2, .timer = &timer, .clock = &clock};
  Join(one, Sum(0, 1, 3), join), Join(two, Sum(1, 1, 3));
  EXPECT_FALSE(one.ended());
  clock.Advance(std::chrono::seconds(3));
  EXPECT_EQ(one.Await().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(std::string(one.Await().message()),
              AllOf(HasSubstr("within 2 s"), HasSubstr("group 1, instance 7 (reduction): 2 of 3 "
                                                       "members are here:")));
  EXPECT_EQ(two.Await().message(), one.Await().message());
}

TEST_F(CollectiveInstanceTest, AMemberThatHasEndedIsForgottenByTheTimer) {
  FakeClock clock;
  Timer timer(clock);
  TestCall one(step_), two(step_);
  const CollectiveJoinOptions join{.timeout_seconds = 2, .timer = &timer, .clock = &clock};
  Join(one, Sum(0, 1), join), Join(two, Sum(1, 1), join);
  EXPECT_TRUE(one.Await().ok() && two.Await().ok());
  clock.Advance(std::chrono::hours(1));
  TestCall forever(step_, {}, 1, 3);
  Join(forever, Sum(0, 1, 1),
       {.timeout_seconds = 1e30, .timer = nullptr, .clock = &clock});  // too long for the clock
  EXPECT_TRUE(forever.Await().ok());
}

TEST_F(CollectiveInstanceTest, IterationsOfALoopMeetApartAndAreForgotten) {
  TestCall first(step_, {}, 1, 1), second(step_, {}, 1, 2), other(step_, {}, 1, 1);
  Join(first, Sum(0, 1)), Join(second, Sum(1, 20));
  EXPECT_FALSE(first.ended() || second.ended()) << "different iterations";
  Join(other, Sum(1, 300));
  EXPECT_EQ(first.Await().ok() ? first.output().data<float>()[0] : 0, 301);
  ResourceManager& resources = step_.step_resources;
  EXPECT_EQ(CollectiveInstance::Describe(resources, Sum(0, 1).keys, 1), "") << "all have met";
  EXPECT_THAT(CollectiveInstance::Describe(resources, Sum(0, 1).keys, 2),
              HasSubstr("1 of 2 members are here: /job:a/replica:0/task:0/device:CPU:1"));
  step_.cancellation.Cancel();
}

TEST_F(CollectiveInstanceTest, MembersOfManyThreadsMeetInEachIteration) {
  constexpr int kMembers = 3;
  std::vector<std::thread> threads;
  for (int m = 0; m < kMembers; ++m) {
    threads.emplace_back([&, m] {
      for (uint64_t tag = 1; tag <= 100; ++tag) {
        TestCall call(step_, {}, 1, tag);
        Join(call, Sum(m, static_cast<float>(tag) * static_cast<float>(m + 1), kMembers));
        EXPECT_TRUE(call.Await().ok());
        EXPECT_EQ(call.output().data<float>()[0], static_cast<float>(tag) * 6);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace thalweg
