// SPDX-License-Identifier: Apache-2.0
// The binary form of Perfetto, decoded by hand; against its own messages: tests/tensorboard.
#include "thalweg/trace/perfetto_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "thalweg/proto/wire_fields.h"
#include "thalweg/trace/test_memory_step.h"
#include "thalweg/trace/test_step.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A field of a message that has it once.
std::string TextOf(std::string_view message, uint32_t number) {
  std::string found;
  EXPECT_TRUE(VisitWireFields(message, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field == number) found = text;
  }));
  return found;
}
int64_t NumberOf(std::string_view message, uint32_t number) {
  int64_t found = -1;
  EXPECT_TRUE(VisitWireFields(message, [&](uint32_t field, uint64_t value, std::string_view) {
    if (field == number) found = static_cast<int64_t>(value);
  }));
  return found;
}
std::vector<uint64_t> FixedOf(std::string_view message, uint32_t number) {
  std::vector<uint64_t> found;
  WireReader reader(message);
  for (uint32_t tag = 0; reader.ReadTag(&tag);) {
    uint64_t value = 0;
    if (tag != WireTag(number, WireType::kFixed64)) {
      EXPECT_TRUE(reader.Skip(tag));
      continue;
    }
    EXPECT_TRUE(reader.ReadFixed64(&value));
    found.push_back(value);
  }
  return found;
}

// An event with its names, at its time.
struct Seen {
  std::string track, name, node;
  int64_t type = 0, at = 0, value = -1;
  std::vector<uint64_t> flows, ends;
};

std::vector<Seen> EventsOf(const std::string& bytes, int64_t* begin) {
  std::vector<Seen> events;
  std::map<int64_t, std::string> tracks, names, texts;
  std::map<int64_t, int64_t> now;
  WireFields packets(bytes);
  for (WireField packet; packets.Next(&packet);) {
    EXPECT_EQ(packet.number, 1u);
    const int64_t sequence = NumberOf(packet.bytes, 10), time = NumberOf(packet.bytes, 8);
    const std::string track = TextOf(packet.bytes, 60), event = TextOf(packet.bytes, 11);
    if (const std::string thread = TextOf(track, 4); !thread.empty()) {
      tracks[sequence] = TextOf(thread, 5);
    } else if (!track.empty()) {
      tracks[sequence] = TextOf(track, 2);
    }
    if (!TextOf(packet.bytes, 6).empty()) {
      now[sequence] = time;
      if (*begin < 0) *begin = time;
    }
    if (NumberOf(packet.bytes, 13) == 1) {
      names.clear();
      texts.clear();
    }
    EXPECT_TRUE(VisitWireFields(TextOf(packet.bytes, 12),
                                [&](uint32_t field, uint64_t, std::string_view entry) {
                                  if (field == 2) names[NumberOf(entry, 1)] = TextOf(entry, 2);
                                  if (field == 29) texts[NumberOf(entry, 1)] = TextOf(entry, 2);
                                }));
    if (event.empty()) continue;
    now[sequence] += time;
    Seen seen{.track = tracks[sequence], .type = NumberOf(event, 9), .at = now[sequence] - *begin};
    if (NumberOf(event, 10) > 0) seen.name = names.at(NumberOf(event, 10));
    seen.value = NumberOf(event, 30);
    seen.flows = FixedOf(event, 47);
    seen.ends = FixedOf(event, 48);
    EXPECT_TRUE(VisitWireFields(event, [&](uint32_t field, uint64_t, std::string_view entry) {
      if (field == 4 && NumberOf(entry, 1) == 1) seen.node = texts.at(NumberOf(entry, 17));
    }));
    events.push_back(seen);
  }
  EXPECT_FALSE(packets.is_cut());
  return events;
}

std::vector<Seen> OfTrack(const std::vector<Seen>& events, const std::string& track) {
  std::vector<Seen> found;
  for (const Seen& event : events) {
    if (event.track == track) found.push_back(event);
  }
  return found;
}

TEST(PerfettoTraceTest, SpansNamesTimesAndFlows) {
  TestStep step;
  step.Node(kPs, "v/send", "_Send", 0, 10).Node(kWorker, "y", "MatMul", 60, 90, 40);
  step.Node(kWorker, "v/recv", "_Recv", 5, 50);
  step.GraphNode(0, "v", "Const", {});
  step.Key(step.GraphNode(0, "v/send", "_Send", {"v:0"}), "edge_3_v", kPs, kWorker);
  step.Key(step.GraphNode(1, "v/recv", "_Recv", {}), "edge_3_v", kPs, kWorker);
  const std::string bytes = PerfettoTrace(*step.Finished());
  EXPECT_THAT(bytes, HasSubstr(kPs));
  int64_t begin = -1;
  const std::vector<Seen> events = EventsOf(bytes, &begin);
  EXPECT_EQ(begin, TestStep::kBegin * 1000);
  std::vector<Seen> lane = OfTrack(events, "lane 0");
  ASSERT_EQ(lane.size(), 4u) << "of the ps, then of the worker";
  EXPECT_EQ(lane[0].name, "_Send");
  EXPECT_EQ(lane[0].node, "v/send");
  EXPECT_THAT(lane[0].flows, ElementsAre(1));
  EXPECT_EQ(lane[1].type, 2);
  EXPECT_EQ(lane[1].at, 10'000);
  EXPECT_EQ(lane[2].name, "MatMul");
  EXPECT_EQ(lane[2].at, 60'000);
  ASSERT_EQ(lane[2].ends.size(), 1u);
  EXPECT_EQ(lane[3].at, 90'000);
  const std::vector<Seen> scheduled = OfTrack(events, "scheduled");
  ASSERT_EQ(scheduled.size(), 1u);
  EXPECT_EQ(scheduled[0].at, 40'000);
  EXPECT_EQ(scheduled[0].flows, lane[2].ends);
  const std::vector<Seen> received = OfTrack(events, "receives 1");
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[0].at, 5000);
  EXPECT_EQ(received[1].type, 3);
  EXPECT_EQ(received[1].at, 50'000);
  EXPECT_THAT(received[1].ends, ElementsAre(1)) << "where the value is there";
  EXPECT_EQ(received[2].type, 2);
}

TEST(PerfettoTraceTest, BusyLanesAndMemoryAreCounters) {
  TestMemoryStep step;
  step.Node("v", "VariableV2", 0, 1).Persistent(1000).Output(1000, 0, 70);
  step.Node("y", "MatMul", 10, 20).Came(11, 400).Went(50, 400).Output(400, 400, 71);
  step.Node("z", "Mul", 90, 100).Came(91, 30).Output(30, 30, 72);
  const std::string bytes = PerfettoTrace(*step.Finished());
  int64_t begin = -1;
  const std::vector<Seen> events = EventsOf(bytes, &begin);
  std::vector<std::pair<int64_t, int64_t>> held;
  for (const Seen& event : OfTrack(events, "memory: other values")) {
    EXPECT_EQ(event.type, 4);
    held.emplace_back(event.at, event.value);
  }
  EXPECT_THAT(held, ElementsAre(std::pair(0, 0), std::pair(11'000, 400), std::pair(50'000, 0),
                                std::pair(91'000, 30)));
  const std::vector<Seen> variables = OfTrack(events, "memory: variables");
  ASSERT_EQ(variables.size(), 1u);
  EXPECT_EQ(variables[0].value, 1000);
  const std::vector<Seen> busy = OfTrack(events, "busy lanes");
  ASSERT_GE(busy.size(), 6u);
  EXPECT_EQ(busy[0].value, 100);
  EXPECT_EQ(busy[1].value, 0);
  EXPECT_EQ(busy[2].at, 10'000);
  EXPECT_EQ(busy[2].value, 100);
  EXPECT_THAT(bytes, Not(HasSubstr("memory: scratch")));
}

// A name is told once in a row, so that a span of a loop takes few bytes.
TEST(PerfettoTraceTest, ASpanTakesFewBytes) {
  const auto size = [](int n) {
    TestStep step;
    for (int i = 0; i < n; ++i) {
      step.Node(kWorker, "a/long/name/of/node_" + std::to_string(i % 50), "Operation", 3 * i,
                3 * i + 2);
    }
    return PerfettoTrace(*step.Finished()).size();
  };
  EXPECT_LE((size(12000) - size(6000)) / 6000.0, 41);
}

TEST(PerfettoTraceTest, ClocksThatWereMovedBackAreTold) {
  TestStep step;
  step.Node(kPs, "v", "Const", 0, 10).Received(kPs, kWorker, "v", -500, -400);
  const auto trace = step.Finished();
  int64_t begin = -1;
  for (const Seen& event : EventsOf(PerfettoTrace(*trace), &begin)) EXPECT_GE(event.at, 0);
  EXPECT_GT(begin, 0);
}

}  // namespace
}  // namespace thalweg
