// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/health/heartbeat_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(HeartbeatPayloadTest, TravelsInAFieldThatOthersSkip) {
  HeartbeatPayload beat;
  beat.process = {"boot", 12, 34};
  beat.memory = {1 << 20, 2 << 20};
  beat.steps = {{.id = -5, .progress = 6, .waits_outside = true, .text = "waits"}, {.id = 7}};
  beat.progress = 9;
  OwnedMessage sent(pb::GetStatusResponse::Descriptor());
  ASSERT_TRUE(AddHeartbeat(beat, sent.get()).ok());
  const Result<OwnedMessage> got =
      ParseMessage(pb::GetStatusResponse::Descriptor(), *Serialize(*sent));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((*got)->Size(pb::GetStatusResponse::kDeviceAttributes), 0);
  const std::optional<HeartbeatPayload> read = FindHeartbeat(**got);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->process.machine, "boot");
  EXPECT_EQ(read->process.pid, 12);
  EXPECT_EQ(read->process.start, 34);
  EXPECT_EQ(read->memory.peak_bytes, 2 << 20);
  EXPECT_EQ(read->progress, 9);
  ASSERT_EQ(read->steps.size(), 2);
  EXPECT_EQ(read->steps[0].id, -5);
  EXPECT_EQ(read->steps[0].progress, 6);
  EXPECT_TRUE(read->steps[0].waits_outside);
  EXPECT_EQ(read->steps[0].text, "waits");
  EXPECT_FALSE(FindHeartbeat(*OwnedMessage(pb::GetStatusResponse::Descriptor())).has_value());

  OwnedMessage request(pb::GetStatusRequest::Descriptor());
  ASSERT_TRUE(AddHeartbeatRequest({"master", {"a", "b"}}, request.get()).ok());
  const std::optional<HeartbeatRequest> asked = FindHeartbeatRequest(*request);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->master, "master");
  EXPECT_THAT(asked->sessions, testing::ElementsAre("a", "b"));
}

TEST(HeartbeatPayloadTest, BrokenBytesAreNoBeat) {
  HeartbeatPayload beat;
  beat.process = {"boot", 12, 34};
  beat.steps = {{.id = 1, .progress = 2, .text = "text"}};
  OwnedMessage sent(pb::GetStatusResponse::Descriptor());
  ASSERT_TRUE(AddHeartbeat(beat, sent.get()).ok());
  const std::string whole(sent->unknown_fields());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char byte : {'\x00', '\x7f', '\xff'}) {
      std::string broken = whole;
      broken[i] = byte;
      Result<OwnedMessage> got = ParseMessage(pb::GetStatusResponse::Descriptor(), broken);
      if (got.ok()) (void)FindHeartbeat(**got);
    }
  }
}

TEST(ProcessStateTest, ReadsWhatTheSystemWrites) {
  const std::string stat = "12 (a (b) c) T 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
  EXPECT_EQ(ParseProcStat(stat).start, 4711);
  EXPECT_EQ(ParseProcStat(stat).ending, 0);
  std::string ended = stat;
  for (int i = 24; i < 52; ++i) ended += " 0";
  EXPECT_EQ(ParseProcStat(ended + " 9").ending, SIGKILL);
  EXPECT_EQ(ParseMemoryGroup("5:devices:/\n4:memory:/a/b\n0::/\n"),
            "memory/a/b/memory.oom_control");
  EXPECT_EQ(ParseMemoryGroup("4:memory:/\n"), "memory/memory.oom_control");
  EXPECT_EQ(ParseMemoryGroup("0::/user.slice/a"), "user.slice/a/memory.events");
  EXPECT_EQ(ParseMemoryGroup("0::/\n:\nnonsense"), "");
  EXPECT_EQ(ReadKillCounter(""), 0);
  EXPECT_TRUE(ParseProcStat("1 (a) R 1 2 3 4 5 12 7 8 9 10 11 12 13 14 15 16 17 18 9 2").exiting);
  EXPECT_EQ(ParseProcStat("12 (a) T 1 2 3").state, 0);
  EXPECT_EQ(ParseProcStat("").state, 0);
  EXPECT_EQ(ParseProcNumber("VmPeak:  7 kB\nVmHWM:\t 120 kB\n", "VmHWM:"), 120);
  EXPECT_EQ(ParseProcNumber("oom_kill_x 3\noom_kill 4", "oom_kill "), 4);
  EXPECT_EQ(ParseProcNumber("nothing", "VmHWM:"), 0);
  EXPECT_GT(OwnIdentity().start, 0);
  EXPECT_GT(ReadProcessMemory().resident_bytes, 0);
}

// Users A11: why a task is silent is told where it can be seen.
TEST(ProcessStateTest, TellsAStoppedProcessFromOneThatEnded) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setsid();  // whoever continues the session of the tests does not mean this one
    for (;;) raise(SIGSTOP);
  }
  ProcessIdentity who = OwnIdentity();
  who.pid = static_cast<uint64_t>(child);
  who.start = ReadProcessStart(who.pid) + 1;
  EXPECT_THAT(DescribeProcess(who), HasSubstr("has ended"));  // another start: another process
  EXPECT_EQ(DescribeProcess({.machine = "elsewhere", .pid = who.pid, .start = 1}), "");
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_TRUE(DescribeProcess(OwnIdentity()).find("is there") != std::string::npos);
  who.start = ReadProcessStart(who.pid);
  EXPECT_THAT(DescribeProcess(who), HasSubstr("is stopped"));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(HasEnded(who));
  EXPECT_THAT(DescribeProcess(who), HasSubstr("has ended by signal 9 (Killed)"));
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(HasEnded(who));
  EXPECT_THAT(DescribeProcess(who), EndsWith("has ended"));
  EXPECT_FALSE(HasEnded(OwnIdentity()));
}

}  // namespace
}  // namespace thalweg
