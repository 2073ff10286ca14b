// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/channels/link_measurement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

// A line on which an echo takes what it says, by a clock that nobody else moves.
class TimedLine : public EchoLine {
 public:
  TimedLine(FakeClock* clock, double latency, double bytes_per_second)
      : clock_(clock), latency_(latency), bytes_per_second_(bytes_per_second) {}

  Status Echo(int64_t bytes, Clock::TimePoint until) override {
    // The first one is slow, as first ones are.
    const double wait = count_++ == 0 ? 3 * latency_ : 2 * latency_;
    double seconds = wait + static_cast<double>(bytes) / bytes_per_second_;
    if (bytes > 0 && !waits.empty()) {
      seconds += waits.back();
      waits.pop_back();
    }
    clock_->Advance(std::chrono::nanoseconds(std::llround(seconds * 1e9)));
    sent += bytes;
    if (bytes > 0 && bytes >= silent_from) clock_->Advance(std::chrono::hours(1));
    return clock_->Now() > until ? DeadlineExceeded("silent") : OkStatus();
  }

  int64_t sent = 0;
  int64_t silent_from = int64_t{1} << 40;
  std::vector<double> waits;  // of those with bytes, the last one first

 private:
  FakeClock* const clock_;
  const double latency_, bytes_per_second_;
  int count_ = 0;
};

class LinkMeasurementTest : public ::testing::Test {
 protected:
  void Expect(double latency, double bytes_per_second) {
    TimedLine line(&clock_, latency, bytes_per_second);
    const Clock::TimePoint begin = clock_.Now();
    const Result<LinkModel> link = MeasureLink(line, clock_);
    ASSERT_TRUE(link.ok()) << link.status().ToString();
    EXPECT_NEAR(link->latency, latency, latency * 0.01);
    EXPECT_NEAR(link->bytes_per_second, bytes_per_second, bytes_per_second * 0.01);
    EXPECT_EQ(link->source, RateSource::kMeasured);
    EXPECT_LE(clock_.Now() - begin, LinkLimits().patience);
    EXPECT_LT(line.sent, 11 << 20);
  }

  FakeClock clock_;
};

TEST_F(LinkMeasurementTest, FindsWhatALinkCanDo) {
  Expect(2e-6, 5e9);  // within a host
  Expect(5e-5, 1e9);  // a network
  Expect(2e-4, 1e8);  // a slow one
  Expect(1e-3, 1e6);  // a very slow one
  Expect(4e-2, 1e7);  // a far one
}

TEST_F(LinkMeasurementTest, ASlowLinkGetsFewBytes) {
  TimedLine line(&clock_, 1e-4, 1e6);
  ASSERT_TRUE(MeasureLink(line, clock_).ok());
  EXPECT_LE(line.sent, 32 << 10);
}

TEST_F(LinkMeasurementTest, WaitsForAProcessorAreNotTakenForTheLinks) {
  TimedLine line(&clock_, 5e-6, 1e9);
  line.waits = {0.061, 0.058, 0.064, 0.060};
  const Result<LinkModel> link = MeasureLink(line, clock_);
  ASSERT_TRUE(link.ok()) << link.status().ToString();
  EXPECT_NEAR(link->bytes_per_second, 1e9, 1e7);
}

TEST_F(LinkMeasurementTest, WhatTakesNoTimeHasNoLimit) {
  TimedLine line(&clock_, 0, 1e15);
  const Result<LinkModel> link = MeasureLink(line, clock_);
  ASSERT_TRUE(link.ok()) << link.status().ToString();
  EXPECT_EQ(link->latency, 0);
  EXPECT_GT(link->bytes_per_second, 1e12);
}

TEST_F(LinkMeasurementTest, ALinkThatIsTooFarIsNotTakenForAFastOne) {
  TimedLine line(&clock_, 0.09, 1e15);
  EXPECT_EQ(MeasureLink(line, clock_).status().code(), Code::kDeadlineExceeded);
}

TEST_F(LinkMeasurementTest, SilenceIsAnErrorWheneverItBegins) {
  for (const int64_t from : {1, 128 << 10, 4 << 20}) {
    TimedLine line(&clock_, 1e-5, 1e10);
    line.silent_from = from;
    EXPECT_EQ(MeasureLink(line, clock_).status().code(), Code::kDeadlineExceeded) << from;
  }
}

}  // namespace
}  // namespace thalweg
