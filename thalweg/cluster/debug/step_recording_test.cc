// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/step_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

TEST(StepRecordingTest, ARequestIsReadAsItWasWritten) {
  const RecordRequest wish{.steps = 3,
                           .slower_than = 50ms,
                           .failing = true,
                           .timeout = 7s,
                           .max_bytes = 1000,
                           .session = "abc",
                           .node = "train",
                           .id = 77};
  const Result<RecordRequest> read = ReadRecordRequest(RecordRequestBytes(wish));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->steps, 3);
  EXPECT_EQ(read->slower_than, 50ms);
  EXPECT_TRUE(read->failing);
  EXPECT_EQ(read->timeout, 7s);
  EXPECT_EQ(read->max_bytes, 1000);
  EXPECT_EQ(read->session, "abc");
  EXPECT_EQ(read->node, "train");
  EXPECT_EQ(read->id, 77U);
  // No time at all is a limit too.
  const Result<RecordRequest> any = ReadRecordRequest(RecordRequestBytes({.slower_than = 0ns}));
  ASSERT_TRUE(any.ok());
  EXPECT_EQ(any->slower_than, 0ns);
  EXPECT_FALSE(ReadRecordRequest(RecordRequestBytes(RecordRequest()))->slower_than.has_value());
  const Result<RecordRequest> never =
      ReadRecordRequest(RecordRequestBytes({.slower_than = std::chrono::nanoseconds::max()}));
  ASSERT_TRUE(never.ok());
  EXPECT_EQ(never->slower_than, std::chrono::nanoseconds::max());
}

TEST(StepRecordingTest, WishesThatNothingCanFulfilAreRefusedWithTheRange) {
  const auto refused = [](const RecordRequest& wish) {
    const Status status = ReadRecordRequest(RecordRequestBytes(wish)).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(refused({.steps = 10'001}), HasSubstr("expected 1 to 10000 steps"));
  EXPECT_THAT(refused({.steps = -1}), HasSubstr("got -1"));
  EXPECT_THAT(refused({.slower_than = -5ns}), HasSubstr("-5 ns"));
  EXPECT_THAT(refused({.timeout = 25h}), HasSubstr("24 hours"));
  EXPECT_THAT(refused({.timeout = -1s}), HasSubstr("-1 s"));
  EXPECT_THAT(refused({.max_bytes = int64_t{2} << 30}), HasSubstr("bytes of traces to keep"));
}

TEST(StepRecordingTest, ARecordingIsReadAsItWasWritten) {
  Recording recording{.seen = 9, .open = 1, .too_large_bytes = 77, .ended_by = "why"};
  recording.steps.push_back({.session = "abc",
                             .id = -4,
                             .start_wall_micros = 5,
                             .nanos = 6,
                             .status = Unavailable("the ps"),
                             .silent = {"/job:ps/replica:0/task:0", "b"},
                             .metadata = std::make_shared<const std::string>("\x0a\x00", 2)});
  recording.steps.emplace_back();
  const Result<Recording> read = ReadRecording(RecordingBytes(recording));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->seen, 9);
  EXPECT_EQ(read->open, 1);
  EXPECT_EQ(read->too_large_bytes, 77);
  ASSERT_EQ(read->steps.size(), 2U);
  const KeptStep& step = read->steps[0];
  EXPECT_EQ(step.session, "abc");
  EXPECT_EQ(step.id, -4);
  EXPECT_EQ(step.start_wall_micros, 5);
  EXPECT_EQ(step.nanos, 6);
  EXPECT_EQ(step.status.ToString(), Unavailable("the ps").ToString());
  EXPECT_EQ(step.silent, recording.steps[0].silent);
  EXPECT_EQ(*step.metadata, *recording.steps[0].metadata);
  EXPECT_TRUE(read->steps[1].status.ok());
  EXPECT_TRUE(read->steps[1].metadata->empty());
}

TEST(StepRecordingTest, AnyBytesAreAnErrorOrARecording) {
  std::mt19937_64 random(1);
  const std::string whole = RecordingBytes(Recording{.steps = {KeptStep{.session = "s", .id = 3}}});
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    refused += ReadRecording(bytes).ok() ? 0 : 1;
    refused += ReadRecordRequest(bytes).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace thalweg
