// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/spec/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST(HostPortTest, ReadsAddresses) {
  EXPECT_EQ(ParseHostPort("localhost:2222")->port, 2222);
  EXPECT_EQ(ParseHostPort("localhost:2222")->host, "localhost");
  EXPECT_EQ(ParseHostPort("[::1]:80")->host, "::1");
  for (const char* bad : {"", ":1", "host", "host:", "host:x", "host:70000", "host:-1", "::1:80",
                          "[]:1", "host:1 "}) {
    EXPECT_EQ(ParseHostPort(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(HostPortTest, WritesWhatItReads) {
  for (const std::string text : {"localhost:2222", "127.0.0.1:0", "[::1]:80", "[fe80::1%lo]:1"}) {
    const Result<HostPort> read = ParseHostPort(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(JoinHostPort(read->host, read->port), text);
  }
}

TEST(ClusterSpecTest, SurvivesAsAMessage) {
  ClusterSpec spec;
  ASSERT_TRUE(spec.Add("worker", 3, "b:2").ok());
  ASSERT_TRUE(spec.Add("ps", 0, "a:1").ok());
  OwnedMessage message(pb::ClusterDef::Descriptor());
  spec.ToMessage(message.get());
  const Result<ClusterSpec> again = ClusterSpec::FromMessage(*message);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->ToString(), "ps: 0; worker: 3");
  EXPECT_EQ(*again->Address("worker", 3), "b:2");
  EXPECT_THAT(again->Address("worker", 0).status().message(), HasSubstr("worker: 3"));
}

TEST(ClusterSpecTest, RefusesTasksAtOneAddress) {
  ClusterSpec spec;
  ASSERT_TRUE(spec.Add("ps", 0, "a:1").ok());
  EXPECT_THAT(spec.Add("worker", 0, "a:1").message(), HasSubstr("ps:0"));
  EXPECT_FALSE(spec.Add("ps", 0, "a:2").ok());
  EXPECT_FALSE(spec.Add("", 0, "a:3").ok());
  EXPECT_FALSE(spec.Add("ps", -1, "a:4").ok());
}

}  // namespace
}  // namespace thalweg
