// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/top_table.h"

namespace cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Json Told(const std::string& task, double uptime, int steps, const Json& others = Json::array()) {
  return {{"task", task},
          {"pid", 7},
          {"uptime_seconds", uptime},
          {"steps",
           {{"done", steps},
            {"failed", 0},
            {"open", 1},
            {"seconds", 0.01 * steps},
            {"oldest_seconds", 5.0}}},
          {"parts",
           {{"done", 0}, {"failed", 0}, {"open", 0}, {"seconds", 0}, {"oldest_seconds", nullptr}}},
          {"oldest_step",
           {{"id", 3},
            {"seconds", 5.0},
            {"session", "s"},
            {"runs", Json::array()},
            {"waits", {"x\x1b of y"}}}},
          {"waiting_values", 1},
          {"channel_sent_bytes", 1000 * steps},
          {"channel_received_bytes", 0},
          {"call_sent_bytes", 0},
          {"call_received_bytes", 10},
          {"tensor_bytes", 4096},
          {"resident_bytes", 1000000},
          {"processor_seconds", 0.5 * uptime},
          {"others", others}};
}

Json Answers(ClusterWatch* watch, const std::string& target, const Json& told, double now) {
  watch->Begin();
  watch->Take(target, {.told = told, .error = {}}, now);
  return watch->Report(now).at("tasks").at(0);
}

TEST(ClusterWatchTest, RatesAreOfTheLastTwoAnswers) {
  ClusterWatch watch({"grpc://a:1"});
  const Json first = Answers(&watch, "grpc://a:1", Told("/job:w/replica:0/task:0", 10, 100), 0);
  EXPECT_FALSE(first.contains("steps_per_second"));
  EXPECT_EQ(first.at("state"), "up");
  const Json row = Answers(&watch, "grpc://a:1", Told("/job:w/replica:0/task:0", 12, 150), 99);
  EXPECT_EQ(row.at("steps_per_second"), 25.0);
  EXPECT_EQ(row.at("interval_seconds"), 2.0);  // as the task's own clock has it
  EXPECT_NEAR(row.at("seconds_per_step").get<double>(), 0.01, 1e-9);
  EXPECT_EQ(row.at("sent_per_second"), 25000.0);
  EXPECT_EQ(row.at("processors"), 0.5);
  const std::string table = TopTable(watch.Report(99));
  EXPECT_THAT(table, HasSubstr("/job:w/task:0"));
  EXPECT_THAT(table, HasSubstr("25"));
  EXPECT_THAT(table, HasSubstr("a step is open for 5.00 s, waits: x  of y"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
}

TEST(ClusterWatchTest, ATaskThatCameBackBeginsAnew) {
  ClusterWatch watch({"grpc://a:1"});
  Answers(&watch, "grpc://a:1", Told("/job:w/replica:0/task:0", 10, 100), 0);
  EXPECT_FALSE(Answers(&watch, "grpc://a:1", Told("/job:w/replica:0/task:0", 1, 5), 1)
                   .contains("steps_per_second"));
  EXPECT_EQ(Answers(&watch, "grpc://a:1", Told("/job:w/replica:0/task:0", 2, 8), 2)
                .at("steps_per_second"),
            3.0);
}

TEST(ClusterWatchTest, OthersAreMetOnceAndReachedAlike) {
  ClusterWatch watch({"grpcs://a:1?ca=x"});
  watch.Begin();
  watch.Take(
      "grpcs://a:1?ca=x",
      {.told = Told("w0", 1, 0,
                    {{{"task", "ps"}, {"address", "b:2"}}, {{"task", "w1"}, {"address", "c:3"}}}),
       .error = {}},
      0);
  EXPECT_THAT(watch.Unasked(), ElementsAre("grpcs://b:2?ca=x", "grpcs://c:3?ca=x"));
  // It calls the first one otherwise.
  watch.Take(
      "grpcs://b:2?ca=x",
      {.told = Told("ps", 1, 0, {{{"task", "w0"}, {"address", "localhost:1"}}}), .error = {}}, 0);
  EXPECT_THAT(watch.Unasked(), ElementsAre("grpcs://c:3?ca=x"));
}

TEST(ClusterWatchTest, WhoIsGoneSaysSoAndSinceWhen) {
  ClusterWatch watch({"grpc://a:1", "grpc://a:1"});
  Answers(&watch, "grpc://a:1", Told("/job:w/replica:0/task:0", 10, 100), 0);
  EXPECT_TRUE(watch.any_answers());
  for (const double now : {1.0, 4.0}) {
    watch.Begin();
    watch.Take("grpc://a:1", {.told = nullptr, .error = "refused\nit"}, now);
  }
  EXPECT_FALSE(watch.any_answers());
  const Json report = watch.Report(4);
  ASSERT_EQ(report.at("tasks").size(), 1);
  EXPECT_EQ(report.at("tasks").at(0).at("gone_seconds"), 3.0);
  EXPECT_THAT(TopTable(report), HasSubstr("grpc://a:1 has not answered for 3.00 s: refused it\n"));
  EXPECT_THAT(TopTable(report), Not(HasSubstr("4096")));  // what it told is not so any more
  EXPECT_EQ(Answers(&watch, "grpc://a:1", Told("/job:w/replica:0/task:0", 11, 100), 5).at("state"),
            "up");
}

TEST(ClusterWatchTest, AServerThatTellsDevicesAloneIsARow) {
  ClusterWatch watch({"grpc://a:1"});
  const Json told = {
      {"task", "/job:w/replica:0/task:0"}, {"devices", Json::array()}, {"lacks", "more"}};
  Answers(&watch, "grpc://a:1", told, 0);
  EXPECT_EQ(Answers(&watch, "grpc://a:1", told, 1).at("state"), "devices");
  EXPECT_THAT(TopTable(watch.Report(1)), HasSubstr("/job:w/task:0: more\n"));
}

TEST(ClusterWatchTest, WhatIsNoAnswerIsSilence) {
  for (const Json& told :
       {Json::object(), Json{{"task", 3}}, Json::array({1}),
        Json{{"task", "t"}, {"others", {{{"task", "u"}}}}},
        Json{{"task", "t"}, {"others", {{{"task", "u"}, {"address", "b:2"}}, {{"task", 3}}}}}}) {
    ClusterWatch watch({"grpc://a:1"});
    const Json row = Answers(&watch, "grpc://a:1", told, 0);
    EXPECT_EQ(row.at("state"), "gone") << told;
    EXPECT_THAT(row.at("error").get<std::string>(), HasSubstr("none of a server")) << told;
    EXPECT_FALSE(row.contains("told")) << told;
    EXPECT_EQ(watch.Report(0).at("tasks").size(), 1) << told;  // nobody is met by it
  }
}

TEST(TopTableTest, AnAnswerThatCannotBeShownIsALineOfItsOwn) {
  Json bad = Told("/job:w/replica:0/task:0", 10, 100);
  bad["tensor_bytes"] = "many";  // is in no rate
  ClusterWatch watch({"grpc://a:1", "grpc://b:2"});
  watch.Begin();
  watch.Take("grpc://a:1", {.told = bad, .error = {}}, 0);
  watch.Take("grpc://b:2", {.told = Told("/job:w/replica:0/task:1", 10, 100), .error = {}}, 0);
  const std::string table = TopTable(watch.Report(0));
  EXPECT_THAT(table, HasSubstr("  /job:w/task:0: grpc://a:1 gives an answer that is none of a "
                               "server: "));
  EXPECT_THAT(table, HasSubstr("/job:w/task:1: a step is open for 5.00 s"));
  EXPECT_THAT(table, HasSubstr("4.1 kB"));  // the other's tensors
}

TEST(TopTableTest, TheOldestStepMayBeAnotherThanTheOneThatIsTold) {
  Json told = Told("/job:w/replica:0/task:0", 10, 100);
  told["oldest_seconds"] = 60.0;
  ClusterWatch watch({"grpc://a:1"});
  Answers(&watch, "grpc://a:1", told, 0);
  EXPECT_THAT(TopTable(watch.Report(0)), HasSubstr("a step is open for 5.00 s, waits: x"));
  EXPECT_THAT(TopTable(watch.Report(0)), HasSubstr(DurationText(60)));
}

TEST(TopTableTest, IsCutToTheScreenByCharacters) {
  EXPECT_EQ(CutToScreen("abc\ndé\u00e9f\ng\nh\n", 2, 3), "ab\ndé\ng");
  EXPECT_EQ(CutToScreen("abc\n", 80, 1), "abc");
}

}  // namespace
}  // namespace cli
