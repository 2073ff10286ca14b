// SPDX-License-Identifier: Apache-2.0
// What a traced step tells of what it has not kept.
#include "thalweg/session/left_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

struct Told {
  int64_t executions = 0, until = 0, begin = 0;
  std::map<std::string, int64_t> nodes;
};

// Of the only device.
Told ToldOf(const RunMetadata& metadata) {
  Told told;
  WireField field, part, of_node;
  std::string nodes;
  metadata.step_stats.traces.at(0).nodes.AppendTo(&nodes);
  for (WireFields fields(nodes); fields.Next(&field);) {
    if (field.number != kLeftOutField) continue;
    for (WireFields parts(field.bytes); parts.Next(&part);) {
      const auto number = static_cast<int64_t>(part.value);
      if (part.number == left_out_fields::kExecutions) told.executions += number;
      if (part.number == left_out_fields::kUntilNanos) told.until = number;
      if (part.number == left_out_fields::kStepBeginNanos) told.begin = number;
      if (part.number != left_out_fields::kNode) continue;
      std::string name;
      for (WireFields of(part.bytes); of.Next(&of_node);) {
        if (of_node.number == left_out_fields::kNodeName) name = of_node.bytes;
        if (of_node.number == left_out_fields::kNodeExecutions) {
          told.nodes[name] = static_cast<int64_t>(of_node.value);
        }
      }
    }
  }
  return told;
}

TEST(LeftOutTest, TheBeginningOfAStepThatIsTooLongIsCountedByNode) {
  constexpr int kNodes = 60, kKept = 20;
  const auto bytes = static_cast<int64_t>(kKept * (sizeof(NodeRecord) + sizeof(ValueRecord)));
  SessionFixture f({.threads = 0}, {.passes = "none", .trace_bytes = bytes});
  const Output x = f.Placeholder(PartialShape{-1});
  Output y = x;
  for (int i = 0; i < kNodes; ++i) y = f.b.Op("Neg", {y}, {}, "n" + std::to_string(i));
  RunMetadata metadata;
  ASSERT_TRUE(
      f.Run({{x, Filled(1 << 10, 1.0f)}}, {y}, {}, {.trace = TraceLevel::kFull}, &metadata).ok());
  const Told told = ToldOf(metadata);
  ASSERT_TRUE(ReadStepStats(&metadata).ok());
  const std::vector<NodeStats>& kept = metadata.step_stats.devices.at(0).nodes;
  ASSERT_FALSE(kept.empty());
  EXPECT_LE(kept.size(), static_cast<size_t>(kKept));
  EXPECT_EQ(told.executions + static_cast<int64_t>(kept.size()), kNodes);
  EXPECT_EQ(told.begin, metadata.step_stats.start_wall_micros * 1000);
  EXPECT_GE(told.until, told.begin);
  // The newest are there, and each of the others is named.
  EXPECT_EQ(kept.back().node, "n59");
  EXPECT_GT(told.begin + kept.front().end_nanos, told.until);
  EXPECT_EQ(told.nodes.size(), static_cast<size_t>(told.executions));
  EXPECT_EQ(told.nodes.count("n0"), 1u);
  for (const NodeStats& node : kept) EXPECT_EQ(told.nodes.count(node.node), 0u) << node.node;
}

TEST(LeftOutTest, AStepThatIsWhollyThereSaysNothing) {
  SessionFixture f({.threads = 0}, {.passes = "none"});
  const Output x = f.Placeholder(PartialShape{-1});
  RunMetadata metadata;
  ASSERT_TRUE(f.Run({{x, Filled(1 << 10, 1.0f)}}, {f.b.Op("Neg", {x})}, {},
                    {.trace = TraceLevel::kFull}, &metadata)
                  .ok());
  EXPECT_EQ(ToldOf(metadata).executions, 0);
  EXPECT_THAT(SessionOptions{.trace_bytes = 0}.Validate().message(),
              ::testing::HasSubstr("trace_bytes must be at least 1, got 0"));
}

}  // namespace
}  // namespace thalweg
