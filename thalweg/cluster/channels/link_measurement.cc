// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/channels/link_measurement.h"

#include <algorithm>
#include <array>
#include <limits>

namespace thalweg {
namespace {

constexpr int kEmptyEchoes = 8;
constexpr int kPairs = 2;  // of each size: the first one also pays for pages and windows that grow
constexpr std::array<int64_t, 4> kSizes = {16 << 10, 128 << 10, 1 << 20, 4 << 20};
constexpr double kNever = std::numeric_limits<double>::infinity();

class Stopwatch {
 public:
  Stopwatch(EchoLine& line, const Clock& clock, Clock::TimePoint end)
      : line_(line), clock_(clock), end_(end) {}

  // Seconds of one echo.
  Result<double> Time(int64_t bytes) {
    const Clock::TimePoint begin = clock_.Now();
    RETURN_IF_ERROR(line_.Echo(bytes, end_));
    return std::chrono::duration<double>(clock_.Now() - begin).count();
  }
  EchoLine& line() { return line_; }
  double Left() const { return std::chrono::duration<double>(end_ - clock_.Now()).count(); }

 private:
  EchoLine& line_;
  const Clock& clock_;
  const Clock::TimePoint end_;
};

// The shortest of some; of two, where these take long.
Result<double> ShortestOfNothing(Stopwatch& watch) {
  double shortest = kNever;
  for (int i = 0; i < kEmptyEchoes; ++i) {
    ASSIGN_OR_RETURN(const double took, watch.Time(0));
    shortest = std::min(shortest, took);
    if (i > 0 && 4 * took > watch.Left()) break;
  }
  return shortest;
}

struct Taken {
  double empty = 0;  // the longest of nothing
  double full = 0;   // the shortest of the bytes
  // What the bytes took; not above 0 where that does not show, as on a machine where whoever sends
  // has to wait for a processor.
  double moved() const { return full - empty; }
};

// One of nothing beside each of the bytes: both have met the same.
Result<Taken> TakenBy(int64_t bytes, Stopwatch& watch) {
  Taken taken{.full = kNever};
  RETURN_IF_ERROR(watch.line().Prepare(bytes));
  for (int i = 0; i < kPairs; ++i) {
    ASSIGN_OR_RETURN(const double empty, watch.Time(0));
    ASSIGN_OR_RETURN(const double full, watch.Time(bytes));
    taken.empty = std::max(taken.empty, empty);
    taken.full = std::min(taken.full, full);
    if (2 * (empty + full) > watch.Left()) break;
  }
  return taken;
}

}  // namespace

Result<LinkModel> MeasureLink(EchoLine& line, const Clock& clock, const LinkLimits& limits) {
  Stopwatch watch(line, clock, clock.Now() + limits.patience);
  ASSIGN_OR_RETURN(const double empty, ShortestOfNothing(watch));
  LinkModel link{.latency = empty / 2, .source = RateSource::kMeasured};
  const double longest = std::chrono::duration<double>(limits.longest).count();
  for (size_t i = 0; i < kSizes.size(); ++i) {
    ASSIGN_OR_RETURN(const Taken taken, TakenBy(kSizes[i], watch));
    const bool shows = taken.moved() > 0;
    // Where most of it was waiting, how much of that is not the bytes' is not known.
    const double moved = taken.moved() > taken.full / 2 ? taken.moved() : taken.full - empty;
    link.bytes_per_second = static_cast<double>(kSizes[i]) / std::max(moved, 1e-9);
    if (!shows || i + 1 == kSizes.size()) continue;
    // Each is eight times the one before, at most.
    const double next = 8 * taken.moved();
    if (next > longest || 2 * (2 * taken.empty + next) > watch.Left()) break;
  }
  return link;
}

}  // namespace thalweg
