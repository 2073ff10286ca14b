// SPDX-License-Identifier: Apache-2.0
// Tasks that agree on a channel over TCP, and those that cannot.
#include "thalweg/cluster/channels/channel_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/channels/test_managers.h"
#include "thalweg/cluster/transport/tcp_sockets.h"
#include "thalweg/cluster/transport/ucx/ucx_listener.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ChannelManagerTest, TwoTasksAgreeOnTcp) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  const Result<std::shared_ptr<Connection>> connection = Get();
  ASSERT_TRUE(connection.ok()) << connection.status().ToString();
  EXPECT_EQ((*connection)->incarnation(), 77U);
  EXPECT_EQ(*Get(), *connection);  // kept
  EXPECT_EQ(b_.asked(), 1);
  const std::shared_ptr<Connection> other = b_.channels().FindOpen(a_.name());
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->incarnation(), 77U);  // both say whose process they are
  other->channel().Close(Aborted("enough"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  b_.channels().steps().hub().WorkUntil([&] { return other->closed(); }, end);
  a_.channels().steps().hub().WorkUntil([&] { return (*connection)->closed(); }, end);
  EXPECT_TRUE(other->closed() && (*connection)->closed());
  EXPECT_THAT(a_.log(), IsEmpty());
  EXPECT_THAT(b_.log(), IsEmpty());
}

// One that uses TCP alone and one that takes what it can get.
TEST_F(ChannelManagerTest, EitherSideMayInsistOnTcp) {
  for (const bool asks : {false, true}) {
    Join(asks ? ChannelUse::kTcp : ChannelUse::kAny, asks ? ChannelUse::kAny : ChannelUse::kTcp);
    EXPECT_TRUE(Get().ok());
  }
}

// A task that listens on all its addresses is reached where its call came from.
TEST_F(ChannelManagerTest, AHostThatIsAllHostsIsTheCallers) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp, "0.0.0.0");
  const Result<std::shared_ptr<Connection>> connection = Get();
  EXPECT_TRUE(connection.ok()) << connection.status().ToString();
}

TEST_F(ChannelManagerTest, APortThatCannotBeReachedIsNotTriedAgain) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](ChannelManager& channels, Hello hello, std::string_view from) {
    const uint64_t token = RandomSeed();
    hello.tcp.port = TcpListener::Open("127.0.0.1", token)->offer().port;  // closed by now
    return channels.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(AllOf(HasSubstr(b_.name()), HasSubstr("by calls"))));
  EXPECT_THAT(b_.log(), ElementsAre(AllOf(HasSubstr(a_.name()), HasSubstr("refused"))));
}

// Whoever sends a hello must not make this task connect where it likes.
TEST_F(ChannelManagerTest, AHelloLeadsOnlyToItsCallerOrToATaskOfTheCluster) {
  const UniqueFd elsewhere(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);  // 127.0.0.2
  socklen_t size = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(elsewhere.get(), at, size), 0);
  ASSERT_EQ(listen(elsewhere.get(), 4), 0);
  ASSERT_EQ(getsockname(elsewhere.get(), at, &size), 0);
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([&](ChannelManager& channels, Hello hello, std::string_view from) {
    hello.tcp.host = "127.0.0.2";
    hello.tcp.port = ntohs(address.sin_port);
    return channels.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_EQ(accept(elsewhere.get(), nullptr, nullptr), -1);  // nobody has come
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_THAT(b_.log(), ElementsAre(AllOf(HasSubstr(a_.name()), HasSubstr("at 127.0.0.2"),
                                          HasSubstr("neither where it calls from"))));
}

TEST_F(ChannelManagerTest, AHostThatTheClusterNamesIsEnough) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](ChannelManager& channels, const Hello& hello, std::string_view) {
    return channels.Accept(EncodeHello(hello), "127.0.0.3");  // as through a gateway
  });
  const Result<std::shared_ptr<Connection>> connection = Get();
  EXPECT_TRUE(connection.ok()) << connection.status().ToString();
}

TEST_F(ChannelManagerTest, AWrongSecretMakesNoChannel) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](ChannelManager& channels, Hello hello, std::string_view from) {
    hello.tcp.secret[0] ^= 1;
    return channels.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(b_.log(), ElementsAre(HasSubstr("closed the connection")));
}

TEST_F(ChannelManagerTest, AnAnswerWithoutConnectionsMakesNoChannel) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](ChannelManager&, const Hello& hello, std::string_view) {
    return EncodeHello({.task = "x", .token = hello.token, .tcp = {.port = hello.tcp.port}});
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(HasSubstr("nobody has connected")));
}

TEST_F(ChannelManagerTest, WhoHasNoChannelsIsLeftInPeace) {
  Join(ChannelUse::kTcp, ChannelUse::kNone);
  ExpectNone();
  EXPECT_THAT(a_.log(), IsEmpty());
}

TEST_F(ChannelManagerTest, ATaskWithoutAnAddressOffersNone) {
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
