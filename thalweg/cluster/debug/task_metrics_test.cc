// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/task_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <utility>

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TaskMetrics SomeMetrics() {
  TaskMetrics metrics;
  metrics.task = "/job:a\"b\\c\nd/replica:0/task:0";
  metrics.steps.done = 3;
  metrics.steps.failed = 1;
  metrics.steps.seconds = 12.5;
  metrics.steps.by_seconds = {0, 0, 3, 0, 0, 0, 0, 1};
  metrics.oldest_seconds = 2.5;
  metrics.told_step = {
      .id = 7, .seconds = 1.5, .session = "s", .runs = {}, .waits = {"x of \"y\""}};
  metrics.channel_sent = 1000;
  metrics.devices.push_back({.name = "/device:CPU:0", .type = "CPU", .memory = {}});
  metrics.others.push_back({.name = "/job:b", .address = "h:1"});
  return metrics;
}

TEST(TaskMetricsTest, ThePageSaysOfEachNumberWhatItIsOnce) {
  const std::string page = MetricsText(SomeMetrics());
  std::set<std::string> told;
  std::string name;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      name = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(told.insert(name).second) << line;
      EXPECT_GT(line.size(), name.size() + 9) << line;
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_THAT(line, StartsWith("# TYPE " + name + " "));
    } else {
      EXPECT_THAT(line, StartsWith(name));  // a sample of what was told last
      EXPECT_EQ(line.find('\r'), std::string::npos);
    }
  }
  EXPECT_EQ(page.back(), '\n');
  EXPECT_THAT(page, HasSubstr("thalweg_steps_total{result=\"done\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("thalweg_steps_total{result=\"failed\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("thalweg_oldest_step_seconds 2.5\n"));
  EXPECT_THAT(page, HasSubstr("thalweg_channel_bytes_total{direction=\"sent\"} 1000\n"));
  EXPECT_THAT(page, HasSubstr("{task=\"/job:a\\\"b\\\\c\\nd/replica:0/task:0\"} 1\n"));
}

TEST(TaskMetricsTest, BucketsCountAllBelowTheirBound) {
  const std::string page = MetricsText(SomeMetrics());
  EXPECT_THAT(page, HasSubstr("thalweg_step_seconds_bucket{le=\"0.001\"} 0\n"
                              "thalweg_step_seconds_bucket{le=\"0.01\"} 3\n"
                              "thalweg_step_seconds_bucket{le=\"0.1\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("thalweg_step_seconds_bucket{le=\"100\"} 3\n"
                              "thalweg_step_seconds_bucket{le=\"+Inf\"} 4\n"
                              "thalweg_step_seconds_sum 12.5\n"
                              "thalweg_step_seconds_count 4\n"));
}

StepMetrics OpenFor(double seconds, std::vector<std::string> waits) {
  StepMetrics step;
  step.seconds = seconds;
  step.waits = std::move(waits);
  return step;
}

TEST(TaskMetricsTest, TheOldestStepThatSaysWhatItDoesIsToldWithItsOwnAge) {
  const auto told = [](std::vector<StepMetrics> steps, std::optional<StepMetrics> rest) {
    const std::optional<StepMetrics> step = ToldStep(std::move(steps), std::move(rest));
    return step.has_value() ? std::pair(step->seconds, step->waits.size()) : std::pair(-1.0, 0UL);
  };
  EXPECT_EQ(told({}, std::nullopt), std::pair(-1.0, 0UL));
  EXPECT_EQ(told({OpenFor(2, {}), OpenFor(5, {})}, std::nullopt), std::pair(5.0, 0UL));
  EXPECT_EQ(told({OpenFor(5, {}), OpenFor(2, {"a"})}, std::nullopt), std::pair(2.0, 1UL));
  EXPECT_EQ(told({OpenFor(5, {"a"}), OpenFor(9, {"a", "b"})}, {}), std::pair(9.0, 2UL));
  EXPECT_EQ(told({}, OpenFor(4, {})), std::pair(4.0, 0UL));
  // A channel's step and what this task made of it.
  EXPECT_EQ(told({OpenFor(5, {})}, OpenFor(4, {"a"})), std::pair(4.0, 1UL));
  EXPECT_EQ(told({OpenFor(5, {})}, OpenFor(4, {})), std::pair(5.0, 0UL));
  // The age of the rest may be the first one's.
  EXPECT_EQ(told({OpenFor(2, {"a"})}, OpenFor(7, {"b", "c"})), std::pair(2.0, 1UL));
}

TEST(TaskMetricsTest, JsonHasTheOldestStepOrNull) {
  TaskMetrics metrics = SomeMetrics();
  EXPECT_THAT(MetricsJson(metrics),
              HasSubstr(R"("oldest_seconds": 2.5, "oldest_step": {"id": 7, "seconds": 1.5, )"
                        R"("session": "s", "runs": [], "waits": ["x of \"y\""]})"));
  EXPECT_THAT(MetricsJson(metrics),
              HasSubstr(R"("others": [{"task": "/job:b", "address": "h:1"}])"));
  metrics.oldest_seconds.reset();
  metrics.told_step.reset();
  EXPECT_THAT(MetricsJson(metrics), HasSubstr(R"("oldest_seconds": null, "oldest_step": null)"));
}

}  // namespace
}  // namespace thalweg
