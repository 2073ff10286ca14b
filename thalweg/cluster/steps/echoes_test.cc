// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/echoes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "thalweg/cluster/steps/step_service.h"
#include "thalweg/cluster/steps/test_channel.h"
#include "thalweg/cluster/transport/hello.h"

namespace thalweg {
namespace {

class EchoesTest : public ::testing::Test {
 protected:
  std::shared_ptr<Connection> Connect(uint64_t features) {
    auto made = std::make_unique<MuteChannel>();
    channel_ = made.get();
    std::shared_ptr<Connection> connection = steps_.hub().Add("/job:mute", std::move(made));
    connection->set_features(features);
    return connection;
  }
  static Clock::TimePoint Soon() {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  }
  static Clock::TimePoint Late() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(60);
  }

  SystemClock clock_;
  StepService steps_{MakeCpuAllocator(), clock_, 1};
  MuteChannel* channel_ = nullptr;  // lives as long as the connection
};

TEST_F(EchoesTest, SilenceEndsWithTheTime) {
  const auto connection = Connect(kAllFeatures);
  EXPECT_EQ(steps_.echoes().Send(connection, nullptr, Soon()).code(), Code::kDeadlineExceeded);
  const Tensor tensor = Tensor::Scalar(1.0f);
  EXPECT_EQ(steps_.echoes().Send(connection, &tensor, Soon()).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(channel_->pushed_.step, kEchoStep);
  // An answer that comes too late, and one that nobody has asked for.
  for (const uint64_t number : {1, 77}) {
    steps_.OnControl(*connection, Encode(EchoMessage{.number = number, .is_answer = true}).view());
  }
  EXPECT_FALSE(connection->closed());
  steps_.Stop(Cancelled("over"));
}

TEST_F(EchoesTest, AClosedChannelEndsIt) {
  const auto connection = Connect(kAllFeatures);
  connection->channel().Close(Aborted("enough"));
  EXPECT_EQ(steps_.echoes().Send(connection, nullptr, Late()).code(), Code::kUnavailable);
  steps_.Stop(Cancelled("over"));
}

TEST_F(EchoesTest, WhoIsOlderGetsNone) {
  const auto connection = Connect(kTracedSteps);
  EXPECT_EQ(steps_.echoes().Send(connection, nullptr, Late()).code(), Code::kUnimplemented);
  EXPECT_EQ(channel_->sent_, "");
  steps_.Stop(Cancelled("over"));
}

TEST_F(EchoesTest, WhatIsAskedIsAnswered) {
  const auto connection = Connect(kAllFeatures);
  steps_.OnControl(*connection, Encode(EchoMessage{.number = 5}).view());
  EXPECT_EQ(channel_->sent_, Encode(EchoMessage{.number = 5, .is_answer = true}).view());
  const TensorHead head{.step = kEchoStep, .frame = 6, .dtype = DType::kFloat, .shape = Shape{}};
  ASSERT_TRUE(steps_.OnHead(*connection, head).ok());
  steps_.OnTensor(*connection, head, Tensor::Scalar(1.0f));
  EXPECT_EQ(channel_->sent_, Encode(EchoMessage{.number = 6, .is_answer = true}).view());
  steps_.Stop(Cancelled("over"));
}

}  // namespace
}  // namespace thalweg
