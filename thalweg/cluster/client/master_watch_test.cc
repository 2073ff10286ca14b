// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/master_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <semaphore>
#include <vector>

#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

class MasterWatchTest : public ::testing::Test {
 protected:
  using Done = std::function<void(const Status&)>;
  FakeClock clock_;
  Timer timer_{clock_};
  std::vector<Done> asked_;
  MasterWatch watch_{timer_,
                     clock_,
                     {.ask_every = 1s, .lost_after = 20s},
                     [this](std::chrono::nanoseconds timeout, CancellationManager&, Done done) {
                       EXPECT_EQ(timeout, 20s);
                       asked_.push_back(std::move(done));
                     }};
  void TearDown() override {
    for (const Done& done : asked_) done(OkStatus());  // the watch waits for its answers
  }
};

TEST_F(MasterWatchTest, GreetsOnceAndBeforeAnyTimeHasPassed) {
  watch_.Greet();
  EXPECT_EQ(asked_.size(), 1u);
  watch_.Greet();
  MasterWatch::Call call(watch_, nullptr);
  watch_.Greet();
  EXPECT_EQ(asked_.size(), 1u);
  EXPECT_FALSE(call.cancellation().IsCancelled());
}

// A client that is late again and again still finds that its master is silent, and not sooner.
TEST(MasterWatchTimeTest, WhoIsAwayOftenFindsTheLost) {
  FakeClock clock;
  Timer timer(clock);
  std::function<void(const Status&)> answer;
  std::binary_semaphore asked(0);
  MasterWatch watch(timer, clock, {.ask_every = 1s, .lost_after = 3s},
                    [&](std::chrono::nanoseconds, CancellationManager&, auto done) {
                      answer = std::move(done);
                      asked.release();
                    });
  MasterWatch::Call call(watch, nullptr);
  const auto pass = [&](std::chrono::seconds span) {
    clock.Advance(span);
    ASSERT_TRUE(asked.try_acquire_for(60s));
    answer(Unavailable("nobody is there"));
  };
  for (int i = 0; i < 2; ++i) {
    pass(1s);
    pass(100s);
    EXPECT_FALSE(call.cancellation().IsCancelled());
  }
  pass(1s);
  ASSERT_TRUE(call.cancellation().IsCancelled());
  EXPECT_THAT(call.cancellation().Reason().message(), ::testing::HasSubstr("the master is lost"));
}

}  // namespace
}  // namespace thalweg
