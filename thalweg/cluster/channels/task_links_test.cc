// SPDX-License-Identifier: Apache-2.0
// What a task finds out of its link to another one, through channels and by calls.
#include "thalweg/cluster/channels/task_links.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "thalweg/base/notification.h"
#include "thalweg/cluster/channels/test_managers.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

class TaskLinksTest : public ChannelManagerTest {
 protected:
  std::optional<LinkModel> To(const std::string& task, std::chrono::nanoseconds time = kPatience) {
    return links_->To(task, Deadline::After(*clock_, time));
  }
  void Make(ChannelUse asking, ChannelUse asked, Clock* clock = nullptr) {
    Join(asking, asked);
    peers_.emplace(SpecOf(), a_.name());
    if (clock != nullptr) clock_ = clock;
    // On a machine that is as busy as can be.
    links_.emplace(a_.channels(), *peers_, *clock_, LinkLimits{.patience = kPatience});
  }
  // A busy machine may have no time for it, and a link that was given up is not tried again.
  std::optional<LinkModel> Measured(ChannelUse asking, ChannelUse asked) {
    std::optional<LinkModel> link;
    for (int i = 0; i < 20 && !link.has_value(); ++i) {
      Make(asking, asked);
      link = To(b_.name());
    }
    return link;
  }
  ClusterSpec SpecOf() {
    ClusterSpec spec;
    for (const ChannelTask* task : {&a_, &b_}) {
      EXPECT_TRUE(spec.Add(task->job(), 0, task->address()).ok());
    }
    return spec;
  }

  SystemClock system_clock_;
  const Clock* clock_ = &system_clock_;
  std::optional<WorkerClients> peers_;
  std::optional<TaskLinks> links_;
};

TEST_F(TaskLinksTest, ThroughEachKindOfChannel) {
  for (const ChannelUse use :
       {ChannelUse::kMemory, ChannelUse::kSockets, ChannelUse::kTcp, ChannelUse::kAny}) {
    const std::optional<LinkModel> link = Measured(use, use);
    ASSERT_TRUE(link.has_value()) << use.name;
    EXPECT_EQ(link->source, RateSource::kMeasured);
    EXPECT_GT(link->latency, 0);
    EXPECT_GT(link->bytes_per_second, 0);
    const std::shared_ptr<Connection> channel = a_.channels().FindOpen(b_.name());
    ASSERT_NE(channel, nullptr);  // for the steps that follow
    channel->channel().Close(Aborted("the next kind"));
  }
}

TEST_F(TaskLinksTest, ByCallsWhereThereAreNoChannels) {
  const std::optional<LinkModel> link = Measured(ChannelUse::kNone, ChannelUse::kAny);
  ASSERT_TRUE(link.has_value());
  EXPECT_GT(link->bytes_per_second, 0);
  EXPECT_GT(b_.asked(), 3);
}

TEST_F(TaskLinksTest, IsKeptForAWhile) {
  FakeClock clock;
  Make(ChannelUse::kNone, ChannelUse::kAny, &clock);
  ASSERT_TRUE(To(b_.name()).has_value());
  const int asked = b_.asked();
  clock.Advance(std::chrono::minutes(9));
  ASSERT_TRUE(To(b_.name()).has_value());
  EXPECT_EQ(b_.asked(), asked);
  clock.Advance(std::chrono::minutes(2));
  ASSERT_TRUE(To(b_.name()).has_value());
  EXPECT_GT(b_.asked(), asked);
}

TEST_F(TaskLinksTest, AnOlderTaskIsNotAskedForEchoes) {
  b_.set_answer([](ChannelManager& channels, const Hello& hello, std::string_view from) {
    Result<Hello> answer = FindHello(channels.Accept(EncodeHello(hello), from));
    EXPECT_TRUE(answer.ok());
    answer->features &= ~kEchoes;
    return EncodeHello(*answer);
  });
  Make(ChannelUse::kTcp, ChannelUse::kTcp);
  EXPECT_FALSE(To(b_.name()).has_value());
  const std::shared_ptr<Connection> channel = a_.channels().FindOpen(b_.name());
  ASSERT_NE(channel, nullptr);
  EXPECT_FALSE(channel->closed());
}

TEST_F(TaskLinksTest, WhoDoesNotAnswerIsGivenUp) {
  // Of the task as well, which may be asked when this has ended.
  const auto over = std::make_shared<Notification>();
  b_.set_answer([over](ChannelManager&, const Hello&, std::string_view) {
    over->Wait();
    return std::string();
  });
  Make(ChannelUse::kTcp, ChannelUse::kTcp);
  EXPECT_FALSE(To(b_.name(), std::chrono::milliseconds(50)).has_value());
  const int asked = b_.asked();
  EXPECT_FALSE(To(b_.name()).has_value());  // nor is he asked again at once
  EXPECT_EQ(b_.asked(), asked);
  over->Notify();
}

TEST_F(TaskLinksTest, NobodyElseIsAsked) {
  Make(ChannelUse::kAny, ChannelUse::kAny);
  EXPECT_FALSE(To("/job:nobody/replica:0/task:0").has_value());
  EXPECT_FALSE(To(a_.name()).has_value());
  EXPECT_EQ(b_.asked(), 0);
}

TEST_F(TaskLinksTest, WhoWasNotAskedForWantOfTimeIsAskedNext) {
  Make(ChannelUse::kAny, ChannelUse::kAny);
  EXPECT_FALSE(To(b_.name(), std::chrono::nanoseconds(0)).has_value());
  EXPECT_EQ(b_.asked(), 0);
  EXPECT_TRUE(To(b_.name()).has_value());
}

}  // namespace
}  // namespace thalweg
