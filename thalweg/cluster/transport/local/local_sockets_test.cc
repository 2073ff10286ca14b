// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/local/local_sockets.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

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

// The name can be seen by all users of the machine.
TEST(LocalSocketsTest, SomebodyElseWhoComesFirstIsPassedOver) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const uint64_t token = RandomSeed();
  const Result<UniqueFd> listener = ListenLocally(token);
  ASSERT_TRUE(listener.ok()) << listener.status().ToString();
  constexpr uid_t kNobody = 65534;
  const pid_t stranger = fork();
  if (stranger == 0) {
    // It connects, and finds that the other side is not of its user.
    if (setuid(kNobody) != 0) _exit(2);
    _exit(ConnectLocally(token).status().code() == Code::kPermissionDenied ? 0 : 1);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(stranger, &ended, 0), stranger);
  ASSERT_EQ(ended, 0);  // it was there, in the queue of those who wait
  const Result<UniqueFd> friendly = ConnectLocally(token);
  ASSERT_TRUE(friendly.ok()) << friendly.status().ToString();
  const Result<UniqueFd> here = AcceptLocally(*listener);
  ASSERT_TRUE(here.ok()) << here.status().ToString();
  ASSERT_EQ(write(friendly->get(), "x", 1), 1);
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
