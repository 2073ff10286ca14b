// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/cluster/channels/test_managers.h"
#include "thalweg/cluster/transport/ucx/ucx_transport.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using UcxChannelsTest = ChannelManagerTest;

// Both are told to use UCX, or one is and finds that the other is not.
TEST_F(UcxChannelsTest, TwoTasksAgreeOnUcx) {
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  const Result<std::shared_ptr<Connection>> connection = Get();
  ASSERT_TRUE(connection.ok()) << connection.status().ToString();
  EXPECT_EQ((*connection)->incarnation(), 77U);
  EXPECT_EQ(*Get(), *connection);  // kept
  const std::shared_ptr<Connection> other = b_.channels().FindOpen(a_.name());
  ASSERT_NE(other, nullptr);
  other->channel().Close(Aborted("enough"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  a_.channels().steps().hub().WorkUntil([&] { return (*connection)->closed(); }, end);
  EXPECT_TRUE((*connection)->closed());
  EXPECT_THAT(a_.log(), IsEmpty());
  EXPECT_THAT(b_.log(), IsEmpty());
}

TEST_F(UcxChannelsTest, UcxIsForThoseWhoUseIt) {
  Join(ChannelUse::kUcx, ChannelUse::kAny);
  ExpectNone();
  EXPECT_THAT(a_.log(),
              ElementsAre(AllOf(HasSubstr(b_.name()), HasSubstr("by calls"), HasSubstr("UCX"))));
  EXPECT_THAT(b_.log(), IsEmpty());
}

TEST_F(UcxChannelsTest, AWrongSecretMakesNoChannelOverUcx) {
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  b_.set_answer([](ChannelManager& channels, Hello hello, std::string_view from) {
    hello.offers.at(kUcxHelloField)[0] ^= 1;
    return channels.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(b_.log(), ElementsAre(HasSubstr("not answered")));
}

TEST_F(UcxChannelsTest, AnAnswerWithoutAnEndpointMakesNoChannelOverUcx) {
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  b_.set_answer([](ChannelManager&, const Hello& hello, std::string_view) {
    return EncodeHello({.task = "x", .token = hello.token});
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(HasSubstr("nobody has come")));
}

}  // namespace
}  // namespace thalweg
