// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/traced_switches.h"

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

constexpr int64_t kWait = TracedSwitches::kLeastWait;

struct Told {
  int64_t since = 0, nanos = 0;
  bool is_preempted = false;
  bool operator==(const Told&) const = default;
};

// What a node of thread 1 from 1,000,000 to 2,000,000 tells.
std::vector<Told> Tell(SwitchRecords records) {
  std::string fields;
  TracedSwitches(std::move(records))
      .AppendFields({.thread = 1, .start_nanos = 1'000'000, .end_nanos = 2'000'000}, &fields);
  std::vector<Told> told;
  if (fields.empty()) return told;
  WireReader reader(fields);
  uint32_t tag = 0;
  std::string_view bytes;
  EXPECT_TRUE(reader.ReadTag(&tag) &&
              tag == WireTag(kNodeSwitchesField, WireType::kLengthDelimited) &&
              reader.ReadBytes(&bytes) && reader.AtEnd());
  WireReader numbers(bytes);
  uint64_t since = 0, nanos = 0;
  while (!numbers.AtEnd()) {
    EXPECT_TRUE(numbers.ReadVarint(&since) && numbers.ReadVarint(&nanos));
    told.push_back(
        {static_cast<int64_t>(since), static_cast<int64_t>(nanos >> 1), (nanos & 1) != 0});
  }
  return told;
}

std::vector<Told> Tell(std::vector<ThreadSwitch> switches) {
  SwitchRecords records;
  records.by_thread[1] = std::move(switches);
  return Tell(std::move(records));
}

TEST(TracedSwitchesTest, WhatLiesInANodeIsTold) {
  EXPECT_EQ(Tell({{1'100'000, 1'150'000, true}, {1'200'000, 1'300'000, false}}),
            (std::vector<Told>{{100'000, 50'000, true}, {50'000, 100'000, false}}));
}

TEST(TracedSwitchesTest, WhatReachesBeyondANodeIsCut) {
  EXPECT_EQ(Tell({{900'000, 1'050'000, true}, {1'950'000, 2'100'000, false}}),
            (std::vector<Told>{{0, 50'000, true}, {900'000, 50'000, false}}));
  EXPECT_EQ(Tell({{500'000, 900'000, true}, {2'000'000, 2'100'000, true}}), std::vector<Told>{});
  EXPECT_EQ(Tell({{900'000, 2'100'000, true}}), (std::vector<Told>{{0, 1'000'000, true}}));
}

TEST(TracedSwitchesTest, ShortWaitsAreLeftOut) {
  EXPECT_EQ(Tell({{1'000'100, 1'000'100 + kWait - 1, false}, {1'100'000, 1'100'001, true}}),
            (std::vector<Told>{{100'000, 1, true}}));
}

// Its thread waits for one that helps, which could have gone on: that counts as lost.
TEST(TracedSwitchesTest, AWaitForAHelperWithoutAProcessorIsNoWait) {
  const ThreadSwitch wait = {1'100'000, 1'500'000, false};
  const auto tell = [](std::vector<ThreadSwitch> own, std::vector<ThreadSwitch> of_helpers) {
    SwitchRecords records;
    records.by_thread[1] = std::move(own);
    records.of_helpers[1] = std::move(of_helpers);
    records.of_helpers[2] = {{1'000'000, 2'000'000, true}};
    return Tell(std::move(records));
  };
  EXPECT_EQ(
      tell({wait}, {{1'200'000, 1'300'000, true}}),
      (std::vector<Told>{{100'000, 100'000, false}, {0, 100'000, true}, {0, 200'000, false}}));
  EXPECT_EQ(tell({wait}, {{900'000, 1'150'000, true}, {1'450'000, 1'600'000, true}}),
            (std::vector<Told>{{100'000, 50'000, true}, {0, 300'000, false}, {0, 50'000, true}}));
  EXPECT_EQ(tell({wait}, {{1'000'000, 1'600'000, true}}),
            (std::vector<Told>{{100'000, 400'000, true}}));
  // What helps while its thread goes on, or has none itself, changes nothing.
  EXPECT_EQ(tell({{1'100'000, 1'200'000, true}}, {{1'100'000, 1'900'000, true}}),
            (std::vector<Told>{{100'000, 100'000, true}}));
}

TEST(TracedSwitchesTest, OtherThreadsAreNotMeant) {
  SwitchRecords records;
  records.by_thread[2] = {{1'100'000, 1'200'000, true}};
  std::string fields;
  const TracedSwitches switches(std::move(records));
  switches.AppendFields({.thread = 1, .start_nanos = 1'000'000, .end_nanos = 2'000'000}, &fields);
  switches.AppendMissing(&fields);
  EXPECT_EQ(fields, "");
}

// What happens to its thread meanwhile happens to other nodes.
TEST(TracedSwitchesTest, AsynchronousKernelsHaveNoThread) {
  SwitchRecords records;
  records.by_thread[1] = {{1'100'000, 1'200'000, true}};
  std::string fields;
  TracedSwitches(std::move(records))
      .AppendFields(
          {.thread = 1, .start_nanos = 1'000'000, .end_nanos = 2'000'000, .has_no_thread = true},
          &fields);
  EXPECT_EQ(fields, "");
}

TEST(TracedSwitchesTest, WhyNothingIsKnownIsTold) {
  SwitchRecords records;
  records.missing = PermissionDenied("no");
  std::string fields;
  TracedSwitches(std::move(records)).AppendMissing(&fields);
  EXPECT_EQ(fields.substr(fields.size() - 3), "\x02no");
}

}  // namespace
}  // namespace thalweg
