// SPDX-License-Identifier: Apache-2.0
// Tasks that agree on a channel over TCP, and those that cannot.
#include "thalweg/cluster/peers/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/peers/test_links.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(PeerLinksTest, TwoTasksAgreeOnTcp) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  const Result<std::shared_ptr<Link>> link = Get();
  ASSERT_TRUE(link.ok()) << link.status().ToString();
  EXPECT_EQ((*link)->incarnation(), 77U);
  EXPECT_EQ(*Get(), *link);  // kept
  EXPECT_EQ(b_.asked(), 1);
  const std::shared_ptr<Link> other = b_.links().FindOpen(a_.name());
  ASSERT_NE(other, nullptr);
  other->channel().Close(Aborted("enough"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  b_.links().steps().hub().WorkUntil([&] { return other->closed(); }, end);
  a_.links().steps().hub().WorkUntil([&] { return (*link)->closed(); }, end);
  EXPECT_TRUE(other->closed() && (*link)->closed());
  EXPECT_THAT(a_.log(), IsEmpty());
  EXPECT_THAT(b_.log(), IsEmpty());
}

// One that uses TCP alone and one that takes what it can get.
TEST_F(PeerLinksTest, EitherSideMayInsistOnTcp) {
  for (const bool asks : {false, true}) {
    Join(asks ? ChannelUse::kTcp : ChannelUse::kAny, asks ? ChannelUse::kAny : ChannelUse::kTcp);
    EXPECT_TRUE(Get().ok());
  }
}

// A task that listens on all its addresses is reached where its call came from.
TEST_F(PeerLinksTest, AHostThatIsAllHostsIsTheCallers) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp, "0.0.0.0");
  const Result<std::shared_ptr<Link>> link = Get();
  EXPECT_TRUE(link.ok()) << link.status().ToString();
}

TEST_F(PeerLinksTest, APortThatCannotBeReachedIsNotTriedAgain) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](PeerLinks& links, Hello hello, std::string_view from) {
    const uint64_t token = RandomSeed();
    hello.tcp.port = TcpDoor::Open("127.0.0.1", token)->offer().port;  // closed by now
    return links.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(AllOf(HasSubstr(b_.name()), HasSubstr("by calls"))));
  EXPECT_THAT(b_.log(), ElementsAre(AllOf(HasSubstr(a_.name()), HasSubstr("refused"))));
}

TEST_F(PeerLinksTest, AWrongSecretMakesNoChannel) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](PeerLinks& links, Hello hello, std::string_view from) {
    hello.tcp.secret[0] ^= 1;
    return links.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(b_.log(), ElementsAre(HasSubstr("closed the connection")));
}

TEST_F(PeerLinksTest, AnAnswerWithoutConnectionsMakesNoChannel) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](PeerLinks&, const Hello& hello, std::string_view) {
    return EncodeHello({.task = "x", .token = hello.token, .tcp = {.port = hello.tcp.port}});
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(HasSubstr("nobody has connected")));
}

TEST_F(PeerLinksTest, WhoHasNoChannelsIsLeftInPeace) {
  Join(ChannelUse::kTcp, ChannelUse::kNone);
  ExpectNone();
  EXPECT_THAT(a_.log(), IsEmpty());
}

TEST_F(PeerLinksTest, ATaskWithoutAnAddressOffersNone) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp, "");
  EXPECT_EQ(Get().status().code(), Code::kUnimplemented);
  EXPECT_EQ(b_.asked(), 0);
}

TEST(ChannelUseTest, UcxIsRefusedWhereItIsNotBuilt) {
  if (HasUcx().ok()) {
    EXPECT_EQ(*ParseChannelUse("ucx"), ChannelUse::kUcx);
  } else {
    EXPECT_EQ(ParseChannelUse("ucx").status().code(), Code::kUnimplemented);
    EXPECT_THAT(ParseChannelUse("ucx").status().message(), HasSubstr("-DTHALWEG_UCX=ON"));
  }
}

TEST(ChannelUseTest, HasNames) {
  EXPECT_EQ(*ParseChannelUse("tcp"), ChannelUse::kTcp);
  EXPECT_EQ(*ParseChannelUse("calls"), ChannelUse::kNone);
  EXPECT_THAT(ParseChannelUse("udp").status().message(), HasSubstr("'udp'"));
}

}  // namespace
}  // namespace thalweg
