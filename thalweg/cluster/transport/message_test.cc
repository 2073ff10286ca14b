// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/message.h"

#include <gtest/gtest.h>

#include <random>

namespace thalweg {
namespace {

std::vector<StepMessage> Samples() {
  return {
      StartMessage{.step = MakeStep(0xabcdef, 7),
                   .lowest_open = 5,
                   .session = 99,
                   .plan = 3,
                   .incarnation = ~uint64_t{0},
                   .time_left = 1'000'000},
      StartMessage{.step = MakeStep(1, kMostStepNumber), .lowest_open = kMostStepNumber},
      StartMessage{.step = 9, .trace = {.times = true}, .trace_edge = 17},
      StartMessage{.step = 9, .trace = {.graphs = true}, .trace_edge = ~uint32_t{0}},
      StartMessage{.step = 9, .trace = {.times = true, .failures = true}, .trace_edge = 3},
      DoneMessage{.step = 9},
      FailMessage{.step = 9, .derived = true, .code = Code::kAborted, .text = "restarted"},
      FailMessage{.step = 9, .derived = false, .code = Code::kInternal, .text = ""},
      CancelMessage{.step = 9, .code = Code::kDeadlineExceeded, .text = "too late"},
      EchoMessage{.number = 9},
      EchoMessage{.number = ~uint64_t{0}, .is_answer = true},
  };
}

TEST(MessageTest, WhatIsEncodedIsDecoded) {
  for (const StepMessage& message : Samples()) {
    const Result<StepMessage> decoded = DecodeStepMessage(Encode(message).view());
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(*decoded, message);
  }
}

TEST(MessageTest, AStepSaysItsMasterAndItsNumber) {
  const uint64_t step = MakeStep(0xffffff, kMostStepNumber);
  EXPECT_EQ(MasterOfStep(step), 0xffffffU);
  EXPECT_EQ(NumberOfStep(step), kMostStepNumber);
  EXPECT_EQ(MakeStep(0, 1), 1U);
}

TEST(MessageTest, ALongTextIsCut) {
  const FailMessage message{.step = 1, .code = Code::kInternal, .text = std::string(5000, 'x')};
  const ControlBytes bytes = Encode(message);
  EXPECT_EQ(bytes.view().size(), kMaxControlBytes);
  const Result<StepMessage> decoded = DecodeStepMessage(bytes.view());
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<FailMessage>(*decoded).text, std::string(kMaxControlBytes - 11, 'x'));
}

TEST(MessageTest, AMessageThatIsCutOrHasMoreBytesIsRefused) {
  for (const StepMessage& message : Samples()) {
    const ControlBytes bytes = Encode(message);
    const bool has_text = std::holds_alternative<FailMessage>(message) ||
                          std::holds_alternative<CancelMessage>(message);
    const size_t least =
        has_text ? (std::holds_alternative<FailMessage>(message) ? 11 : 10) : bytes.view().size();
    for (size_t size = 0; size < least; ++size) {
      EXPECT_EQ(DecodeStepMessage(bytes.view().substr(0, size)).status().code(),
                Code::kInvalidArgument)
          << size;
    }
    if (has_text) continue;
    EXPECT_FALSE(DecodeStepMessage(std::string(bytes.view()) + "x").ok());
  }
}

TEST(MessageTest, WrongValuesAreRefused) {
  EXPECT_FALSE(DecodeStepMessage(Encode(StartMessage{.step = 1, .time_left = -1}).view()).ok());
  EXPECT_FALSE(DecodeStepMessage(Encode(StartMessage{.step = 1, .lowest_open = 2}).view()).ok());
  EXPECT_FALSE(DecodeStepMessage(Encode(FailMessage{.step = 1, .code = Code::kOk}).view()).ok());
  EXPECT_FALSE(
      DecodeStepMessage(Encode(CancelMessage{.step = 1, .code = static_cast<Code>(17)}).view())
          .ok());
  std::string traced(Encode(StartMessage{.step = 1, .trace = {.times = true}}).view());
  traced[traced.size() - 6] = 0;  // a traced START that wishes nothing
  EXPECT_FALSE(DecodeStepMessage(traced).ok());
  traced[traced.size() - 6] = 2;
  EXPECT_FALSE(DecodeStepMessage(traced).ok());
  std::string derived(Encode(FailMessage{.step = 1}).view());
  derived[9] = 2;
  EXPECT_FALSE(DecodeStepMessage(derived).ok());
}

// Any bytes: an error or a message that is encoded as it came.
TEST(MessageTest, GarbageIsAnErrorOrAMessage) {
  std::mt19937_64 random(1);
  int messages = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (!bytes.empty()) bytes[0] = static_cast<char>(random() % 8);
    const Result<StepMessage> decoded = DecodeStepMessage(bytes);
    if (!decoded.ok()) continue;
    ++messages;
    EXPECT_EQ(Encode(*decoded).view(), bytes);
  }
  EXPECT_GT(messages, 1000);
}

}  // namespace
}  // namespace thalweg
