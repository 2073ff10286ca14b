// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/channel_hub.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "thalweg/cluster/transport/conformance/test_transport.h"

namespace thalweg {
namespace {

// Counts how often it rings.
class FakeChannel : public Channel {
 public:
  void Send(std::string_view) override {}
  void Push(const TensorHead&, Tensor) override {}
  bool Poll(ChannelSink& sink, int) override {
    if (here.exchange(false)) sink.OnControl("x");
    if (closing.exchange(false)) sink.OnClosed(OkStatus());
    return false;
  }
  void OnArrival(std::function<void()> ring) override { ring_ = std::move(ring); }
  bool Arm() override {
    if (!armed.exchange(true)) armed_by = std::this_thread::get_id();
    return !here || !armed.exchange(false);
  }
  void Disarm() override {
    // Who looks first and finds the channel disarmed takes it from nobody.
    if (!armed.exchange(false)) return;
    const std::thread::id whose = waiter.load();
    if (whose != std::thread::id() && whose != std::this_thread::get_id() &&
        whose == armed_by.load()) {
      ++robbed;
    }
  }
  void Close(Status) override {
    closing = true;
    if (armed.exchange(false)) ring_();
  }
  void Arrive() {
    here = true;
    if (!armed.exchange(false)) return;
    ++rings;
    ring_();
  }

  std::atomic<bool> here{false}, closing{false}, armed{false};
  std::atomic<int> rings{0};
  std::atomic<std::thread::id> armed_by, waiter;
  std::atomic<int> robbed{0};  // times that another has disarmed what `waiter` had armed

 private:
  std::function<void()> ring_;
};

struct Counter : ConnectionHandler {
  void OnControl(Connection&, std::string_view) override {
    ++messages;
    if (ChannelHub* const h = hub.load(); h != nullptr) h->Wake();
  }
  Result<Tensor> OnHead(Connection&, const TensorHead&) override {
    return Unimplemented("none come");
  }
  void OnTensor(Connection&, const TensorHead&, Tensor) override {}
  void OnClosed(Connection&, const Status&) override {}
  std::atomic<int> messages{0};
  std::atomic<ChannelHub*> hub{nullptr};
};

struct HubTest : testing::Test {
  HubTest() {
    auto made = std::make_unique<FakeChannel>();
    channel = made.get();
    hub.Add("peer", std::move(made));
  }
  bool UntilArmed() {
    return RunUntil([] {}, [&] { return channel->armed.load(); });
  }
  Counter handler;
  FakeChannel* channel = nullptr;  // the hub's, until it goes
  ChannelHub hub{handler};
};

TEST_F(HubTest, WhoeverWaitsTakesWhatComesAndWakesNobody) {
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(UntilArmed());
    const int rings = channel->rings;
    int looks = 0;
    hub.WorkUntil([&] {
      // The first look is before anything else. The leader may have looked by itself meanwhile, at
      // its tick, and slept again.
      if (++looks == 2) channel->Arrive();
      return handler.messages == i;
    });
    EXPECT_LE(channel->rings, rings + 1);
    ASSERT_TRUE(RunUntil([] {}, [&] { return handler.messages == i; }));
  }
  EXPECT_LT(channel->rings, 50);
}

TEST_F(HubTest, WhatComesAfterTheWaitWakesTheLeader) {
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(UntilArmed());
    bool looked = false;
    hub.WorkUntil([&] { return std::exchange(looked, true); });
    if (i % 2 == 0) {
      ASSERT_TRUE(UntilArmed());
    }
    channel->Arrive();
    ASSERT_TRUE(RunUntil([] {}, [&] { return handler.messages == i; }));
  }
}

TEST_F(HubTest, WhoWaitsLongIsWokenByMessagesAndByWake) {
  std::atomic<bool> ready{false};
  std::thread waiter([&] { hub.WorkUntil([&] { return ready.load(); }); });
  for (int i = 1; i <= 20; ++i) {
    EXPECT_TRUE(UntilArmed());
    channel->Arrive();
    EXPECT_TRUE(RunUntil([] {}, [&] { return handler.messages == i; }));
  }
  EXPECT_TRUE(UntilArmed());
  ready = true;
  hub.Wake();
  waiter.join();
}

// A thread of the hub that sleeps on the channels gives way to one that waits, for whom they then
// stay armed.
TEST_F(HubTest, WhoGivesWayLeavesTheChannelsArmed) {
  for (int i = 1; i <= 20; ++i) {
    channel->waiter = channel->armed_by = std::thread::id();
    std::atomic<bool> ran{false}, ready{false};
    hub.Post([&] { ran = true; });  // after which a thread of the hub leads
    ASSERT_TRUE(
        RunUntil([] {}, [&] { return ran && channel->armed_by.load() != std::thread::id(); }));
    std::thread waiter([&] {
      channel->waiter = std::this_thread::get_id();
      hub.WorkUntil([&] { return ready.load(); });
    });
    EXPECT_TRUE(RunUntil([] {}, [&] { return channel->armed_by.load() == waiter.get_id(); }));
    channel->Arrive();
    EXPECT_TRUE(RunUntil([] {}, [&] { return handler.messages == i; }));
    ready = true;
    hub.Wake();
    waiter.join();
  }
  EXPECT_EQ(channel->robbed, 0);
}

// One of several waiters sleeps on the channel; when it has got what it waited for, another does.
TEST_F(HubTest, EachOfSeveralThatWaitGetsItsOwn) {
  handler.hub = &hub;
  std::vector<std::thread> waiters;
  for (int i = 1; i <= 8; ++i) {
    waiters.emplace_back([&, i] { hub.WorkUntil([&, i] { return handler.messages >= i; }); });
  }
  for (int i = 1; i <= 8; ++i) {
    EXPECT_TRUE(UntilArmed());
    channel->Arrive();
    EXPECT_TRUE(RunUntil([] {}, [&] { return handler.messages == i; }));
    waiters[static_cast<size_t>(i) - 1].join();
  }
}

TEST_F(HubTest, AWaitEndsAtItsTime) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  hub.WorkUntil([] { return false; }, until);
  EXPECT_GE(std::chrono::steady_clock::now(), until);
}

// Steps that wait hold the thread that looks; a job finds another.
TEST_F(HubTest, AJobRunsWhileAnotherWaits) {
  std::atomic<int> ran{0};
  hub.Post([&] {
    hub.WorkUntil([&] { return ran == 1; });
    ++ran;
    hub.Wake();
  });
  EXPECT_TRUE(UntilArmed());
  hub.Post([&] {
    ++ran;
    hub.Wake();
  });
  hub.WorkUntil([&] { return ran == 2; });
}

}  // namespace
}  // namespace thalweg
