// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/waiter_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

enum Line : size_t { kTakers, kGivers };

// Counts coins: a taker waits for so many, and takes those that are there meanwhile.
struct TakeCoins : Waiter {
  TakeCoins(TestCall& call, int n) : Waiter(kTakers, call.context(), call.done()), wanted(n) {}
  void OnEnd() override {
    if (ended != nullptr) ++*ended;
  }
  const int wanted;
  int taken = 0;
  std::atomic<int>* ended = nullptr;
};
struct GiveCoins : Waiter {
  GiveCoins(TestCall& call, int n) : Waiter(kGivers, call.context(), call.done()), given(n) {}
  const int given;
};

class Purse final : public WaiterQueues {
 public:
  explicit Purse(bool in_turn = true)
      : WaiterQueues({in_turn ? Order::kFirst : Order::kAny, Order::kAny}) {}
  ~Purse() override {
    if (gone != nullptr) *gone = true;
  }
  std::string DebugString() const override { return "a purse"; }
  int coins() {
    MutexLock lock(mutex_);
    return coins_;
  }
  bool nobody_takes() {
    MutexLock lock(mutex_);
    return IsEmpty(kTakers);
  }
  void Close(const Status& why) {
    Ended ended;
    {
      MutexLock lock(mutex_);
      FailAll(kTakers, why, &ended);
    }
    End(std::move(ended));
  }
  bool* gone = nullptr;
  std::atomic<int> finished{0};
  Status finish;

 private:
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_) {
    if (waiter.line == kGivers) {
      coins_ += static_cast<GiveCoins&>(waiter).given;
      return Progress::kEnded;
    }
    auto& take = static_cast<TakeCoins&>(waiter);
    const int n = std::min(coins_, take.wanted - take.taken);
    coins_ -= n;
    take.taken += n;
    if (take.taken == take.wanted) return Progress::kEnded;
    return n > 0 ? Progress::kSome : Progress::kNone;
  }
  void Withdraw(Waiter& waiter) override REQUIRES(mutex_) {
    if (waiter.line == kTakers) coins_ += std::exchange(static_cast<TakeCoins&>(waiter).taken, 0);
  }
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_) {
    MutexLock lock(mutex_);  // must be free
    if (waiter.line == kTakers) ++finished;
    return finish;
  }
  int coins_ GUARDED_BY(mutex_) = 0;
};

RefPtr<Purse> NewPurse() { return RefPtr<Purse>::Adopt(std::make_unique<Purse>().release()); }
void Take(Purse& purse, TestCall& call, int n) { purse.Join(std::make_unique<TakeCoins>(call, n)); }
void Give(Purse& purse, TestStep& step, int n) {
  TestCall call(step);
  purse.Join(std::make_unique<GiveCoins>(call, n));
  EXPECT_TRUE(call.Await().ok());
}

class WaiterQueuesTest : public testing::Test {
 protected:
  TestStep step_, other_;
  RefPtr<Purse> purse_ = NewPurse();
};

TEST_F(WaiterQueuesTest, ACallThatNeedNotWaitEndsInJoin) {
  Give(*purse_, step_, 3);
  TestCall call(step_);
  Take(*purse_, call, 2);
  ASSERT_TRUE(call.ended());
  EXPECT_TRUE(call.Await().ok());
  EXPECT_EQ(purse_->coins(), 1);
  EXPECT_TRUE(purse_->nobody_takes());
}

TEST_F(WaiterQueuesTest, WhoComesFirstIsServedFirst) {
  TestCall first(step_), second(step_);
  Take(*purse_, first, 2), Take(*purse_, second, 1);
  Give(*purse_, step_, 1);
  EXPECT_FALSE(first.ended());
  EXPECT_FALSE(second.ended()) << "one coin would do, but it is not its turn";
  Give(*purse_, step_, 2);
  EXPECT_TRUE(first.ended() && second.ended());
}

TEST_F(WaiterQueuesTest, InALineOfAnyOrderWhoCanGoOnGoesOn) {
  const auto purse = RefPtr<Purse>::Adopt(std::make_unique<Purse>(false).release());
  TestCall large(step_), small(step_);
  Take(*purse, large, 3), Take(*purse, small, 1);
  Give(*purse, step_, 2);
  EXPECT_FALSE(large.ended());
  EXPECT_FALSE(small.ended()) << "the first one took both";
  Give(*purse, step_, 2);
  EXPECT_TRUE(large.ended() && small.ended());
}

TEST_F(WaiterQueuesTest, ACancelledCallGivesBackWhatItTookAndOthersGoOn) {
  TestCall cancelled(other_), next(step_);
  Take(*purse_, cancelled, 3), Take(*purse_, next, 2);
  Give(*purse_, step_, 2);
  EXPECT_FALSE(next.ended());
  other_.cancellation.Cancel(DeadlineExceeded("too late"));
  EXPECT_EQ(cancelled.Await().message(), "too late");
  EXPECT_TRUE(next.ended()) << "the two coins came back to the line";
  EXPECT_EQ(purse_->coins(), 0);
}

TEST_F(WaiterQueuesTest, ACallOfACancelledStepEndsAtOnceAndTakesNothing) {
  Give(*purse_, step_, 5);
  other_.cancellation.Cancel(Cancelled("over"));
  TestCall call(other_);
  Take(*purse_, call, 1);
  EXPECT_EQ(call.Await().message(), "over");
  EXPECT_EQ(purse_->coins(), 5);
}

TEST_F(WaiterQueuesTest, FailAllEndsALineWithItsReasonAsIfCancelled) {
  TestCall first(step_), second(step_);
  Take(*purse_, first, 3), Take(*purse_, second, 1);
  Give(*purse_, step_, 2);
  purse_->Close(Cancelled("the purse is closed"));
  EXPECT_EQ(first.Await().message(), "the purse is closed");
  EXPECT_EQ(second.Await().message(), "the purse is closed");
  EXPECT_EQ(purse_->coins(), 2);
  EXPECT_EQ(purse_->finished.load(), 0) << "outputs are for calls that ended well";
  TestCall later(step_);
  Take(*purse_, later, 2);
  EXPECT_TRUE(later.Await().ok());
}

TEST_F(WaiterQueuesTest, AnErrorOfFinishIsTheErrorOfTheCall) {
  TestCall call(step_);
  Take(*purse_, call, 1);
  purse_->finish = ResourceExhausted("no room for the output");
  TestCall give(step_);
  purse_->Join(std::make_unique<GiveCoins>(give, 1));
  EXPECT_EQ(call.Await().message(), "no room for the output");
  EXPECT_EQ(call.times_ended(), 1);
}

TEST_F(WaiterQueuesTest, AWaiterKeepsItsResourceAndTheLastOneEndsIt) {
  bool gone = false;
  TestCall call(other_);
  {
    const RefPtr<Purse> purse = NewPurse();
    purse->gone = &gone;
    Take(*purse, call, 1);
  }
  EXPECT_FALSE(gone);
  other_.cancellation.Cancel();
  EXPECT_EQ(call.Await().code(), Code::kCancelled);
  EXPECT_TRUE(gone);
}

TEST_F(WaiterQueuesTest, OnEndComesOnceHoweverACallEnds) {
  std::atomic<int> ended{0};
  const auto take = [&](TestCall& call) {
    auto waiter = std::make_unique<TakeCoins>(call, 1);
    waiter->ended = &ended;
    purse_->Join(std::move(waiter));
  };
  TestCall cancelled(other_), served(step_), dismissed(step_);
  take(cancelled);
  other_.cancellation.Cancel();
  EXPECT_EQ(ended.load(), 1);
  take(served);
  Give(*purse_, step_, 1);
  EXPECT_EQ(ended.load(), 2);
  take(dismissed);
  purse_->Close(Cancelled("closed"));
  EXPECT_EQ(ended.load(), 3);
}

// A call that is given its coin while its step is cancelled ends once, one way or the other, and no
// coin is lost or made.
TEST_F(WaiterQueuesTest, ServingAndCancellingRaceToOneEnd) {
  for (int round = 0; round < 300; ++round) {
    const RefPtr<Purse> purse = NewPurse();
    TestStep cancelled;
    TestCall call(cancelled);
    Take(*purse, call, 2);
    std::thread giver([&] {
      Give(*purse, step_, 1);
      Give(*purse, step_, 1);
    });
    std::thread canceller([&] { cancelled.cancellation.Cancel(); });
    giver.join(), canceller.join();
    const Status status = call.Await();
    EXPECT_EQ(call.times_ended(), 1);
    EXPECT_EQ(purse->coins(), status.ok() ? 0 : 2) << status.ToString();
    EXPECT_TRUE(purse->nobody_takes());
  }
}

TEST_F(WaiterQueuesTest, ManyTakersAndGiversEndWithNothingLeftOver) {
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        TestStep step;
        TestCall call(step);
        Take(*purse_, call, 1 + i % 3);
        if (call.Await().ok()) ++served;
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) Give(*purse_, step_, 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served.load(), 600);
  EXPECT_EQ(purse_->coins(), 0);
}

}  // namespace
}  // namespace thalweg
