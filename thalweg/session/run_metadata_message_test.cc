// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/run_metadata_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

void Append(const NodeTrace& node, StepStats* stats) {
  AppendNode(node, stats->start_wall_micros, stats->traces[0].nodes.Tail());
}

StepStats OneNode() {
  StepStats stats{.start_wall_micros = 1000};
  stats.traces = {{"/job:a/device:CPU:0", {}}, {"/job:a/device:CPU:1", {}}};
  Append({.node = "y", .op = "Add", .thread = 3, .start_nanos = 5000, .end_nanos = 7500}, &stats);
  AppendNode({.node = "RecvTensor", .label = "[4B] x"}, 1000, stats.traces[1].nodes.Tail());
  return stats;
}

OwnedMessage Expected(std::string_view text) {
  Result<OwnedMessage> message = ParseText(pb::StepStats::Descriptor(), text);
  EXPECT_TRUE(message.ok()) << message.status().ToString();
  return *std::move(message);
}

constexpr std::string_view kText = R"(
  dev_stats {
    device: "/job:a/device:CPU:0"
    node_stats {
      node_name: "y" all_start_micros: 1005 op_end_rel_micros: 2 all_end_rel_micros: 2
      timeline_label: "y = Add" scheduled_micros: 1005 thread_id: 3 all_start_nanos: 1005000
      op_end_rel_nanos: 2500 all_end_rel_nanos: 2500
    }
  }
  dev_stats {
    device: "/job:a/device:CPU:1"
    node_stats {
      node_name: "RecvTensor" all_start_micros: 1000 timeline_label: "[4B] x"
      scheduled_micros: 1000 all_start_nanos: 1000000
    }
  })";

// The bytes of a message, whichever way they were written.
std::string Canonical(const Message& message) { return *Serialize(message); }

TEST(RunMetadataMessageTest, StatisticsAreWrittenAsTheMessageHasThem) {
  EXPECT_EQ(EncodeStepStats(OneNode()), Canonical(*Expected(kText)));
  OwnedMessage message(pb::StepStats::Descriptor());
  ASSERT_TRUE(StepStatsToMessage(OneNode(), message.get()).ok());
  EXPECT_EQ(Canonical(*message), Canonical(*Expected(kText)));
  EXPECT_EQ(EncodeStepStats({}), "");
}

// The length of a node's message takes one byte, or as many as it needs.
TEST(RunMetadataMessageTest, NamesAreAsLongAsTheyAre) {
  for (const size_t size : {0, 1, 20, 60, 127, 128, 8000, 8200, 70'000, 1'100'000}) {
    RunMetadata metadata;
    StepStats& stats = metadata.step_stats;
    stats.traces = {{"", {}}};
    const std::string name(size, 'n');
    constexpr int64_t kLong = int64_t{1} << 60;
    Append({.node = "before", .op = "Add"}, &stats);
    Append(
        {.node = name, .op = "Add", .thread = 1 << 30, .start_nanos = -kLong, .end_nanos = kLong},
        &stats);
    Append({.node = "behind", .op = "Add"}, &stats);
    Result<OwnedMessage> message =
        ParseMessage(pb::StepStats::Descriptor(), EncodeStepStats(stats));
    ASSERT_TRUE(message.ok()) << message.status().ToString();
    EXPECT_EQ(EncodeStepStats(stats), Canonical(**message));
    ASSERT_TRUE(ReadStepStats(&metadata).ok());
    ASSERT_EQ(stats.devices.size(), 1u);
    const std::vector<NodeStats>& nodes = stats.devices[0].nodes;
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_EQ(nodes[0].label, "before = Add");
    EXPECT_EQ(nodes[1].node, name);
    EXPECT_EQ(nodes[1].label, name + " = Add");
    EXPECT_EQ(nodes[1].start_nanos, -kLong);
    EXPECT_EQ(nodes[1].end_nanos, kLong);
    EXPECT_EQ(nodes[2].label, "behind = Add");
  }
}

void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

int64_t PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lld", &kilobytes) == 1) return kilobytes / 1024;
  }
  return 0;
}

// Of two devices, each of several pieces: what has been written of them is gone. Twice, as what was
// freed first changes where later pieces come from.
TEST(RunMetadataMessageTest, ALongTraceIsNotThereTwice) {
  constexpr int64_t kMegabytes = 100;
  for (int times = 0; times < 2; ++times) {
    RunMetadata metadata;
    StepStats& stats = metadata.step_stats;
    stats.traces = {{"a", {}}, {"b", {}}};
    const std::string fields(size_t{1} << 20, '\0');
    for (int64_t i = 0; i < 2 * kMegabytes; ++i) {
      AppendNode({.node = "y", .op = "Add", .end_nanos = i, .fields = fields}, 1000,
                 stats.traces[static_cast<size_t>(i % 2)].nodes.Tail(1000));
    }
    const size_t size = stats.traces[0].nodes.size() + stats.traces[1].nodes.size();
    ResetPeak();
    const int64_t before = PeakMegabytes();
    const Result<std::string> message = RunMetadataMessage(std::move(metadata));
    ASSERT_TRUE(message.ok());
    EXPECT_GT(message->size(), size);
    EXPECT_LT(message->size(), size + 100);
    if (!kSanitized) {
      EXPECT_LT(PeakMegabytes() - before, 80) << "two pieces, and some";
    }
    int64_t nodes = 0;
    WireField step_stats, device, node;
    for (WireFields all(*message); all.Next(&step_stats);) {
      for (WireFields devices(step_stats.bytes); devices.Next(&device);) {
        for (WireFields of(device.bytes); of.Next(&node);) {
          nodes += node.number == pb::DeviceStepStats::kNodeStats ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(nodes, 2 * kMegabytes);
  }
}

TEST(RunMetadataMessageTest, WhatOthersToldGoesOnAsItCame) {
  RunMetadata metadata{.step_stats = OneNode()};
  ASSERT_TRUE(AddEncodedStepStats(EncodeStepStats(OneNode()), &metadata.step_stats).ok());
  metadata.memory = {.peak_bytes = 8, .peak_node = "y"};
  OwnedMessage message(pb::RunMetadata::Descriptor());
  ASSERT_TRUE(RunMetadataToMessage(metadata, message.get()).ok());
  const auto devices =
      message->GetMessage(pb::RunMetadata::kStepStats).Messages(pb::StepStats::kDevStats);
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(Canonical(*devices[2]), Canonical(*devices[0]));
  EXPECT_EQ(message->GetMessage(pb::RunMetadata::kCostGraph).Size(pb::CostGraphDef::kNode), 1);

  // As a client has it, and whoever looks.
  RunMetadata told{.encoded = *RunMetadataMessage(metadata)};
  EXPECT_EQ(*RunMetadataMessage(told), told.encoded);
  for (RunMetadata* const read : {&metadata, &told}) {
    for (int times = 0; times < 2; ++times) {
      ASSERT_TRUE(ReadStepStats(read).ok());
      ASSERT_EQ(read->step_stats.devices.size(), 4u);
      const NodeStats& node = read->step_stats.devices[2].nodes.at(0);
      EXPECT_EQ(node.node, "y");
      EXPECT_EQ(node.end_nanos - node.start_nanos, 2500);
    }
  }
}

TEST(RunMetadataMessageTest, WhatIsNoMessageIsRefused) {
  StepStats stats;
  const std::string whole = EncodeStepStats(OneNode());
  int accepted = 0;
  for (size_t size = 1; size < whole.size(); ++size) {
    const Status status = AddEncodedStepStats(whole.substr(0, size), &stats);
    accepted += status.ok();  // between two devices
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("expected a StepStats message"));
  }
  EXPECT_EQ(accepted, 1);
  stats = {};
  for (const char* const bad : {"\x0a\x7f", "\x0a", "\x0c"}) {
    EXPECT_FALSE(AddEncodedStepStats(bad, &stats).ok());
  }
  EXPECT_EQ(stats.encoded, "");
  // Whole on the outside alone: told to whoever looks.
  ASSERT_TRUE(AddEncodedStepStats("\x0a\x01\x0a", &stats).ok());
  RunMetadata metadata{.step_stats = stats};
  EXPECT_EQ(ReadStepStats(&metadata).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
