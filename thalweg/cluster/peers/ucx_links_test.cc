// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/cluster/peers/test_links.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using UcxLinksTest = PeerLinksTest;

// Both are told to use UCX, or one is and finds that the other is not.
TEST_F(UcxLinksTest, TwoTasksAgreeOnUcx) {
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  const Result<std::shared_ptr<Link>> link = Get();
  ASSERT_TRUE(link.ok()) << link.status().ToString();
  EXPECT_EQ((*link)->incarnation(), 77U);
  EXPECT_EQ(*Get(), *link);  // kept
  const std::shared_ptr<Link> other = b_.links().FindOpen(a_.name());
  ASSERT_NE(other, nullptr);
  other->channel().Close(Aborted("enough"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  a_.links().steps().hub().WorkUntil([&] { return (*link)->closed(); }, end);
  EXPECT_TRUE((*link)->closed());
  EXPECT_THAT(a_.log(), IsEmpty());
  EXPECT_THAT(b_.log(), IsEmpty());
}

TEST_F(UcxLinksTest, UcxIsForThoseWhoUseIt) {
  Join(ChannelUse::kUcx, ChannelUse::kAny);
  ExpectNone();
  EXPECT_THAT(a_.log(),
              ElementsAre(AllOf(HasSubstr(b_.name()), HasSubstr("by calls"), HasSubstr("UCX"))));
  EXPECT_THAT(b_.log(), IsEmpty());
}

TEST_F(UcxLinksTest, AWrongSecretMakesNoChannelOverUcx) {
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  b_.set_answer([](PeerLinks& links, Hello hello, std::string_view from) {
    hello.ucx.secret[0] ^= 1;
    return links.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(b_.log(), ElementsAre(HasSubstr("not answered")));
}

TEST_F(UcxLinksTest, AnAnswerWithoutAnEndpointMakesNoChannelOverUcx) {
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  b_.set_answer([](PeerLinks&, const Hello& hello, std::string_view) {
    return EncodeHello({.task = "x", .token = hello.token});
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(HasSubstr("nobody has come")));
}

}  // namespace
}  // namespace thalweg
