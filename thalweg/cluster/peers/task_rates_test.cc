// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/task_rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

// What comes where this is said.
Result<TaskRates> Sent(const TaskRates& rates) {
  OwnedMessage response(pb::GetStatusResponse::Descriptor());
  RETURN_IF_ERROR(AddRates(rates, response.get()));
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(*response));
  ASSIGN_OR_RETURN(response, ParseMessage(pb::GetStatusResponse::Descriptor(), bytes));
  return FindRates(*response);
}

Result<TaskRates> SentBytes(const std::string& bytes) {
  OwnedMessage response(pb::GetStatusResponse::Descriptor());
  std::string field;
  AddWireText(20263, bytes, &field);
  RETURN_IF_ERROR(MergeFromBytes(*response, field));
  return FindRates(*response);
}

TEST(TaskRatesTest, AMasterAsks) {
  OwnedMessage request(pb::GetStatusRequest::Descriptor());
  EXPECT_FALSE(RatesAsked(*request).has_value());
  ASSERT_TRUE(AskForRates({}, request.get()).ok());
  EXPECT_EQ(RatesAsked(*request), std::vector<std::string>());
  request = OwnedMessage(pb::GetStatusRequest::Descriptor());
  ASSERT_TRUE(AskForRates({"a", "b"}, request.get()).ok());
  EXPECT_EQ(RatesAsked(*request), (std::vector<std::string>{"a", "b"}));
}

TEST(TaskRatesTest, FiguresComeAsTheyAre) {
  TaskRates told;
  told.devices.processors["cpu"] = {.flops = 1.5e11, .bytes = 2e10};
  told.devices.processors["gpu"] = {.flops = 5e13, .bytes = 3e12, .node_seconds = 4e-6};
  told.devices.buses["gpu"] = {.latency = 7e-6, .bytes_per_second = 9e9};
  told.links["near"] = {.latency = 2.5e-7};
  told.links["far"] = {.latency = 0.1, .bytes_per_second = 1e5};
  const Result<TaskRates> heard = Sent(told);
  ASSERT_TRUE(heard.ok()) << heard.status().ToString();
  EXPECT_EQ(heard->devices.processors.at("cpu").flops, 1.5e11);
  EXPECT_EQ(heard->devices.processors.at("cpu").bytes, 2e10);
  EXPECT_EQ(heard->devices.processors.at("cpu").node_seconds, 0);
  EXPECT_EQ(heard->devices.processors.at("gpu").flops, 5e13);
  EXPECT_NEAR(heard->devices.processors.at("gpu").node_seconds, 4e-6, 1e-9);
  EXPECT_NEAR(heard->devices.buses.at("gpu").latency, 7e-6, 1e-9);
  EXPECT_EQ(heard->devices.buses.at("gpu").bytes_per_second, 9e9);
  EXPECT_NEAR(heard->links.at("near").latency, 2.5e-7, 1e-9);
  EXPECT_TRUE(std::isinf(heard->links.at("near").bytes_per_second));
  EXPECT_EQ(heard->links.at("far").bytes_per_second, 1e5);
  EXPECT_EQ(heard->links.at("far").source, RateSource::kMeasured);
}

TEST(TaskRatesTest, WhoSaysNothingIsNotMeasured) {
  const OwnedMessage response(pb::GetStatusResponse::Descriptor());
  const Result<TaskRates> heard = FindRates(*response);
  ASSERT_TRUE(heard.ok());
  EXPECT_TRUE(heard->links.empty() && heard->devices.processors.empty());
}

TEST(TaskRatesTest, WhatCannotBeReadIsRefused) {
  std::string nameless, many;
  AddWireText(3, std::string(), &nameless);
  EXPECT_EQ(SentBytes(nameless).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SentBytes("\x1a\x7f").status().code(), Code::kInvalidArgument);  // cut off
  for (int i = 0; i < 10'001; ++i) {
    std::string entry;
    AddWireText(1, "x", &entry);
    AddWireText(3, entry, &many);
  }
  EXPECT_EQ(SentBytes(many).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
