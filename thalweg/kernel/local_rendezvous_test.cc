// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/local_rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace thalweg {
namespace {

RendezvousKey Key(std::string edge, uint64_t tag = 0) {
  return {"/a", 1, "/b", std::move(edge), tag};
}

TEST(LocalRendezvousTest, SendMeetsRecvInEitherOrder) {
  LocalRendezvous rendezvous;
  std::vector<int> got;
  auto keep = [&](Result<Delivery> d) { got.push_back(d.ok() ? d->tensor.scalar<int>() : -1); };
  EXPECT_TRUE(rendezvous.Send(Key("x"), {Tensor::Scalar(1)}).ok());
  rendezvous.Recv(Key("x"), keep);
  rendezvous.Recv(Key("y"), keep);
  EXPECT_TRUE(rendezvous.Send(Key("y"), {Tensor::Scalar(2)}).ok());
  EXPECT_EQ(got, (std::vector<int>{1, 2}));
  EXPECT_EQ(rendezvous.Send(Key("x"), {Tensor::Scalar(1)}).code(), Code::kInvalidArgument);
  rendezvous.Recv(Key("y"), keep);
  EXPECT_EQ(got.back(), -1);
  EXPECT_TRUE(rendezvous.Send(Key("x", 1), {Tensor::Scalar(1)}).ok());
}

TEST(LocalRendezvousTest, AbortReachesWaitersAndLaterCalls) {
  LocalRendezvous rendezvous;
  Status seen;
  rendezvous.Recv(Key("x"), [&](Result<Delivery> d) { seen = d.status(); });
  rendezvous.Abort(Cancelled("enough"));
  rendezvous.Abort(Internal("too late"));
  EXPECT_EQ(seen.message(), "enough");
  EXPECT_EQ(rendezvous.Send(Key("z"), {}).message(), "enough");
  Status late;
  rendezvous.Recv(Key("x"), [&](Result<Delivery> d) { late = d.status(); });
  EXPECT_EQ(late.message(), "enough");
}

TEST(LocalRendezvousTest, ASecondSendOrRecvBeforeTheyMeetIsRefused) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send(Key("sent"), {Tensor::Scalar(1)}).ok());
  const Status twice = rendezvous.Send(Key("sent"), {Tensor::Scalar(2)});
  EXPECT_EQ(twice.message(), "rendezvous key /a;0000000000000001;/b;sent;0:0 was sent twice");
  std::vector<int> order;
  rendezvous.Recv(Key("awaited"), [&](Result<Delivery> d) { order.push_back(d.ok() ? 1 : 0); });
  rendezvous.Recv(Key("awaited"), [&](Result<Delivery> d) { order.push_back(d.ok() ? 3 : 2); });
  EXPECT_EQ(order, std::vector<int>{2}) << "the first one still waits";
  ASSERT_TRUE(rendezvous.Send(Key("awaited"), {Tensor::Scalar(1)}).ok());
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST(LocalRendezvousTest, ADeadDeliveryArrivesDead) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send(Key("x"), {Tensor(), true}).ok());
  bool dead = false;
  rendezvous.Recv(Key("x"), [&](Result<Delivery> d) { dead = d.ok() && d->dead; });
  EXPECT_TRUE(dead);
}

TEST(LocalRendezvousTest, ASentTensorIsHeldUntilReceivedOrAborted) {
  AllocatorPtr allocator = MakeCpuAllocator();
  LocalRendezvous rendezvous;
  const auto send = [&](const char* edge) {
    ASSERT_TRUE(
        rendezvous.Send(Key(edge), {*Tensor::Allocate(*allocator, DType::kFloat, Shape{100})})
            .ok());
  };
  send("x"), send("y");
  EXPECT_GT(allocator->Stats().bytes_in_use, 0);
  rendezvous.Recv(Key("x"), [](const Result<Delivery>& d) { EXPECT_TRUE(d.ok()); });
  rendezvous.Abort(Cancelled("enough"));
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
}

TEST(LocalRendezvousTest, KeysDifferByDestinationSourceIncarnationAndTag) {
  LocalRendezvous rendezvous;
  const RendezvousKey keys[] = {{"/a", 1, "/b", "e", 0},
                                {"/c", 1, "/b", "e", 0},
                                {"/a", 2, "/b", "e", 0},
                                {"/a", 1, "/c", "e", 0},
                                {"/a", 1, "/b", "e", uint64_t{1} << 32}};
  for (const RendezvousKey& key : keys)
    EXPECT_TRUE(rendezvous.Send(key, {}).ok()) << key.ToString();
  EXPECT_EQ(keys[4].ToString(), "/a;0000000000000001;/b;e;1:0");
}

TEST(LocalRendezvousTest, DescribeNamesWhatLiesThereAndWhoWaits) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send(Key("c"), {Tensor::Scalar(1)}).ok());
  rendezvous.Recv(Key("a"), [](const Result<Delivery>&) {});
  ASSERT_TRUE(rendezvous.Send(Key("met"), {Tensor::Scalar(1)}).ok());
  rendezvous.Recv(Key("met"), [](const Result<Delivery>&) {});
  uint64_t events = 0;
  EXPECT_THAT(rendezvous.Describe(9, &events),
              testing::ElementsAre("a of /a for /b is awaited", "c of /a for /b lies here"));
  EXPECT_EQ(events, 4u);
  EXPECT_THAT(rendezvous.Describe(1, &events),
              testing::ElementsAre("a of /a for /b is awaited", "and 1 more"));
}

// A callback may call the rendezvous: no lock is held.
TEST(LocalRendezvousTest, CallbacksMayCallTheRendezvous) {
  LocalRendezvous rendezvous;
  Status sent;
  rendezvous.Recv(Key("x"), [&](const Result<Delivery>&) { sent = rendezvous.Send(Key("y"), {}); });
  ASSERT_TRUE(rendezvous.Send(Key("x"), {}).ok());
  EXPECT_TRUE(sent.ok());
  rendezvous.Recv(Key("z"), [&](const Result<Delivery>&) { rendezvous.Abort(Internal("again")); });
  rendezvous.Abort(Cancelled("first"));
  EXPECT_EQ(rendezvous.Send(Key("w"), {}).message(), "first");
}

TEST(LocalRendezvousTest, EveryReceiverHearsOnceWhileSendersAndAnAbortRace) {
  for (int round = 0; round < 20; ++round) {
    LocalRendezvous rendezvous;
    constexpr int kKeys = 50;
    std::atomic<int> heard[kKeys] = {};
    std::atomic<int> values{0}, sent{0};
    std::thread receiver([&] {
      for (int i = 0; i < kKeys; ++i) {
        rendezvous.Recv(Key(StrCat("e", i)), [&, i](const Result<Delivery>& d) {
          ++heard[i];
          if (d.ok() && d->tensor.scalar<int>() == i) ++values;
        });
      }
    });
    std::thread sender([&] {
      for (int i = 0; i < kKeys; ++i) {
        if (rendezvous.Send(Key(StrCat("e", i)), {Tensor::Scalar(i)}).ok()) ++sent;
      }
    });
    std::thread stopper;
    if (round % 2 == 1) stopper = std::thread([&] { rendezvous.Abort(Cancelled("stop")); });
    receiver.join(), sender.join();
    if (stopper.joinable()) stopper.join();
    for (const std::atomic<int>& times : heard) EXPECT_EQ(times.load(), 1);
    if (round % 2 == 0) {
      EXPECT_EQ(values.load(), kKeys);
    }
    EXPECT_LE(values.load(), sent.load());
  }
}

}  // namespace
}  // namespace thalweg
