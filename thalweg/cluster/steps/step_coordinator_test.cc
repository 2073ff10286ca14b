// SPDX-License-Identifier: Apache-2.0
// Steps that somebody watches: what a part tells of its run is not what the step depends on.
#include "thalweg/cluster/steps/step_coordinator.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/notification.h"
#include "thalweg/base/thread.h"
#include "thalweg/cluster/steps/step_service.h"
#include "thalweg/cluster/steps/test_channel.h"
#include "thalweg/cluster/transport/hello.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kEdge = 7;
constexpr uint64_t kSession = 1;
const TensorHead kTold{.edge = kEdge, .dtype = DType::kUint8, .shape = {}};

class StepCoordinatorTest : public ::testing::Test {
 protected:
  StepCoordinatorTest() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].connection =
          steps_.hub().Add(StrCat("/job:mute/task:", i), std::make_unique<MuteChannel>());
      parts_[i].connection->set_features(kAllFeatures);
      parts_[i].trace_edge = kEdge;
    }
  }
  ~StepCoordinatorTest() override { steps_.Stop(Cancelled("over")); }

  // A limit to the test's patience; none of the outcomes that are expected.
  CoordinateRequest Watched() {
    return {.session = kSession,
            .parts = parts_,
            .trace = {.times = true, .failures = true},
            .traces = traces_,
            .timeout = 60s};
  }
  Connection& Part(size_t i) { return *parts_[i].connection; }
  StepTime Now() { return clock_.Now().time_since_epoch(); }
  // When the patience with what is told behind it has already ended.
  StepTime LongAgo() { return Now() - 1h; }

  SystemClock clock_;
  StepService steps_{MakeCpuAllocator(1 << 20), clock_, 1};
  std::array<RemoteStepPart, 2> parts_;
  std::array<Tensor, 2> traces_;
};

class CoordinatedTest : public StepCoordinatorTest {
 protected:
  // Of the two parts.
  void UntilNobodyWaitsForOne() {
    const StepTime end = Now() + 60s;
    std::vector<std::string> owed(parts_.size());
    while (owed.size() == parts_.size() && Now() < end) {
      owed.clear();
      step_.AppendOwed(&owed);
    }
    EXPECT_EQ(owed.size(), 1U);
  }

  CoordinateRequest request_ = Watched();
  StepCoordinator step_{request_, std::make_shared<ChannelRendezvous>(MakeStep(1, 1), nullptr),
                        steps_.hub(), Now()};
};

TEST_F(CoordinatedTest, AnAnswerAndWhatIsToldComeInAnyOrder) {
  step_.Done(Part(0), Now());
  step_.Traced(Part(0), kTold, *Tensor::AllocateHost(DType::kUint8, {3}), Now());
  step_.Traced(Part(1), kTold, *Tensor::AllocateHost(DType::kUint8, {4}), Now());
  step_.Done(Part(1), Now());
  EXPECT_TRUE(step_.Await(clock_).ok());
  EXPECT_EQ(traces_[0].bytes(), 3U);
  EXPECT_EQ(traces_[1].bytes(), 4U);
}

TEST_F(CoordinatedTest, WhatIsNeverToldIsWaitedForAWhileOnly) {
  step_.Traced(Part(1), kTold, *Tensor::AllocateHost(DType::kUint8, {4}), Now());
  Thread awaits("awaits", [this] { EXPECT_TRUE(step_.Await(clock_).ok()); });
  step_.Done(Part(1), LongAgo());
  step_.Done(Part(0), LongAgo());
  awaits.Join();
  EXPECT_TRUE(traces_[0].empty());
  EXPECT_EQ(traces_[1].bytes(), 4U);
}

// Others still run, and the step with them.
TEST_F(CoordinatedTest, WhatIsToldTooLateIsKeptAsLongAsTheStepLasts) {
  step_.Done(Part(0), LongAgo());
  Thread awaits("awaits", [this] { EXPECT_TRUE(step_.Await(clock_).ok()); });
  UntilNobodyWaitsForOne();
  step_.Told(Part(0), *Tensor::AllocateHost(DType::kUint8, {3}));
  step_.Told(Part(1), Tensor());
  step_.Done(Part(1), Now());
  awaits.Join();
  EXPECT_EQ(traces_[0].bytes(), 3U);
}

TEST_F(CoordinatedTest, WhoHasNotAnsweredIsWaitedFor) {
  step_.Done(Part(0), LongAgo());
  Thread awaits("awaits", [this] { EXPECT_EQ(step_.Await(clock_).code(), Code::kInternal); });
  UntilNobodyWaitsForOne();
  step_.Told(Part(1), Tensor());
  step_.Failed(Part(1), Internal("late"), false, Now());
  awaits.Join();
}

TEST_F(CoordinatedTest, WhoAnsweredAndIsLostBeforeHeToldIsNotMissed) {
  step_.Done(Part(0), Now());
  step_.Told(Part(1), Tensor());
  step_.Done(Part(1), Now());
  step_.Lost(Part(0), Unavailable("gone"), Now());
  EXPECT_TRUE(step_.Await(clock_).ok());
}

TEST_F(CoordinatedTest, WhoFailsAndTellsNothingHasAnswered) {
  step_.Failed(Part(0), Internal("why"), false, LongAgo());
  const Status status = step_.Await(clock_);
  EXPECT_EQ(status.message(), "From /job:mute/task:0:\nwhy; /job:mute/task:1 did not answer");
}

// Where the one that waits for it has no room for it.
TEST_F(StepCoordinatorTest, WhatFindsNoRoomIsNotWaitedFor) {
  ASSERT_TRUE(steps_.AddSession(kSession).ok());
  CoordinateRequest request = Watched();
  uint64_t id = 0;
  Notification opened;
  request.opened = [&](uint64_t step) {
    id = step;
    opened.Notify();
  };
  Thread runs("runs", [&] { EXPECT_TRUE(steps_.Coordinate(request).ok()); });
  opened.Wait();
  TensorHead head = kTold;
  head.step = id;
  head.shape = {2 << 20};
  for (size_t i = 0; i < parts_.size(); ++i) {
    EXPECT_EQ(steps_.OnHead(Part(i), head).status().code(), Code::kResourceExhausted);
    steps_.OnControl(Part(i), Encode(DoneMessage{.step = id}).view());
    for (const StepSnapshot& step : steps_.Describe()) {
      EXPECT_EQ(step.asked.size(), parts_.size() - 1 - i) << "the end of this part is not awaited";
    }
  }
  runs.Join();
  for (const Tensor& trace : traces_) EXPECT_TRUE(trace.empty());
}

}  // namespace
}  // namespace thalweg
