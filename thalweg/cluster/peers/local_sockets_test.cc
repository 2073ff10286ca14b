// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/local_sockets.h"

#include <gtest/gtest.h>

#include "thalweg/base/entropy.h"

namespace thalweg {
namespace {

TEST(LocalSocketsTest, TwoEndsMeet) {
  const uint64_t token = RandomSeed();
  const Result<UniqueFd> listener = ListenLocally(token);
  ASSERT_TRUE(listener.ok()) << listener.status().ToString();
  EXPECT_EQ(AcceptLocally(*listener).status().code(), Code::kUnavailable);
  const Result<UniqueFd> there = ConnectLocally(token);
  ASSERT_TRUE(there.ok()) << there.status().ToString();
  const Result<UniqueFd> here = AcceptLocally(*listener);
  ASSERT_TRUE(here.ok()) << here.status().ToString();
  ASSERT_EQ(write(there->get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(here->get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST(LocalSocketsTest, NobodyListens) {
  EXPECT_EQ(ConnectLocally(RandomSeed()).status().code(), Code::kUnavailable);
}

TEST(LocalSocketsTest, ANameIsTakenOnce) {
  const uint64_t token = RandomSeed();
  const Result<UniqueFd> listener = ListenLocally(token);
  ASSERT_TRUE(listener.ok());
  EXPECT_EQ(ListenLocally(token).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace thalweg
