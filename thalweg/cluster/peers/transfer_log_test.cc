// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/transfer_log.h"

#include <gtest/gtest.h>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/session/run_metadata_message.h"

namespace thalweg {
namespace {

const Transfer kTransfer = {.source = "/job:a/replica:0/task:0/device:CPU:0",
                            .destination = "/job:b/replica:0/task:0/device:CPU:0",
                            .edge = "edge_9_c",
                            .bytes = 8,
                            .start_micros = 1000,
                            .end_micros = 1800};

TEST(TransferLogTest, AStepsTransfersAreEntriesOfTheReceivingDevice) {
  TransferLog log;
  log.Add(7, kTransfer);
  log.Add(8, kTransfer);
  RunMetadata metadata{.step_stats = {.start_wall_micros = 900}};
  StepStats& stats = metadata.step_stats;
  log.MoveTo(7, &stats);
  ASSERT_TRUE(ReadStepStats(&metadata).ok());
  ASSERT_EQ(stats.devices.size(), 1u);
  EXPECT_EQ(stats.devices[0].device, kTransfer.destination);
  ASSERT_EQ(stats.devices[0].nodes.size(), 1u);
  const NodeStats entry = stats.devices[0].nodes[0];
  EXPECT_EQ(entry.node, "RecvTensor");
  EXPECT_EQ(entry.start_nanos, 100'000);
  EXPECT_EQ(entry.end_nanos, 900'000);
  EXPECT_EQ(entry.label,
            "[8B] [0.08Mb/s] edge_9_c from /job:a/replica:0/task:0/device:CPU:0 to "
            "/job:b/replica:0/task:0/device:CPU:0");
  log.MoveTo(7, &stats);  // taken already
  ASSERT_TRUE(ReadStepStats(&metadata).ok());
  EXPECT_EQ(stats.devices[0].nodes.size(), 1u);
  log.MoveTo(8, &stats);
  ASSERT_TRUE(ReadStepStats(&metadata).ok());
  ASSERT_EQ(stats.devices.size(), 1u);  // of the same device, whoever wrote before
  EXPECT_EQ(stats.devices[0].nodes.size(), 2u);
}

// The newest are kept, and how many came before is told by who received them.
TEST(TransferLogTest, AStepOfManyTransfersTellsHowManyWent) {
  constexpr int kMost = 100'000, kMore = 25;
  TransferLog log;
  for (int i = 0; i < kMost + kMore; ++i) {
    log.Add(7, {.source = "a", .destination = "b", .edge = "e", .end_micros = i});
  }
  StepStats stats;
  log.MoveTo(7, &stats);
  ASSERT_EQ(stats.traces.size(), 1u);
  int kept = 0;
  int64_t left_out = 0, until = 0;
  WireField field, part;
  std::string nodes;
  stats.traces[0].nodes.AppendTo(&nodes);
  for (WireFields fields(nodes); fields.Next(&field);) {
    if (field.number == pb::DeviceStepStats::kNodeStats) ++kept;
    if (field.number != kLeftOutField) continue;
    for (WireFields parts(field.bytes); parts.Next(&part);) {
      if (part.number == left_out_fields::kTransfers) left_out = static_cast<int64_t>(part.value);
      if (part.number == left_out_fields::kUntilNanos) until = static_cast<int64_t>(part.value);
    }
  }
  EXPECT_EQ(kept, kMost);
  EXPECT_EQ(left_out, kMore);
  EXPECT_EQ(until, (kMore - 1) * 1000);
}

TEST(TransferLogTest, EachStepIsKeptUntilItsOwnEnd) {
  TransferLog log;
  EXPECT_FALSE(log.Keeps(1));
  log.Enable(1);
  log.Enable(2);
  EXPECT_TRUE(log.Keeps(1));
  EXPECT_FALSE(log.Keeps(3)) << "nobody traces it";
  log.Disable(1);
  log.Disable(1);
  EXPECT_FALSE(log.Keeps(1));
  EXPECT_TRUE(log.Keeps(2)) << "another's end is not its own";
  log.EnableAll(true);
  EXPECT_TRUE(log.Keeps(3));
  log.EnableAll(false);
  EXPECT_FALSE(log.Keeps(3));
  EXPECT_TRUE(log.Keeps(2));
  for (int step = 100; step < 200; ++step) log.Enable(step);  // of masters that are gone
  EXPECT_FALSE(log.Keeps(2));
  EXPECT_TRUE(log.Keeps(199));
}

TEST(TransferLogTest, OldStepsGo) {
  TransferLog log;
  for (int step = 0; step < 1000; ++step) log.Add(step, kTransfer);
  StepStats stats;
  log.MoveTo(0, &stats);
  EXPECT_TRUE(stats.traces.empty());
  log.MoveTo(999, &stats);
  EXPECT_EQ(stats.traces.size(), 1u);
  log.Add(1, kTransfer);
  log.Clear();
  StepStats none;
  log.MoveTo(1, &none);
  EXPECT_TRUE(none.traces.empty());
}

}  // namespace
}  // namespace thalweg
