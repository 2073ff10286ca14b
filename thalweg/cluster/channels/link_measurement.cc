// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/channels/link_measurement.h"

#include <algorithm>
#include <array>
#include <limits>

namespace thalweg {
namespace {

constexpr int kEmptyEchoes = 5;
// Of one size, until two agree: the first one also pays for pages and windows that grow, and on a
// busy machine any may have to wait.
constexpr int kSameSize = 6;
constexpr double kAgree = 1.25;
// Of long ones: waits for a processor resemble each other more than a link's times differ.
constexpr double kAgreeLong = 1.02;
constexpr std::array<int64_t, 4> kSizes = {16 << 10, 128 << 10, 1 << 20, 4 << 20};
constexpr double kNever = std::numeric_limits<double>::infinity();

class Stopwatch {
 public:
  Stopwatch(EchoLine& line, const Clock& clock, const LinkLimits& limits)
      : line_(line),
        clock_(clock),
        end_(clock.Now() + limits.patience),
        long_(std::chrono::duration<double>(limits.enough).count()) {}

  // The shortest of some echoes, in seconds; of fewer, but of two of nothing, where time runs out.
  Result<double> Shortest(int64_t bytes, int count) {
    double shortest = kNever, next = kNever;
    for (int i = 0; i < count; ++i) {
      const Clock::TimePoint begin = clock_.Now();
      RETURN_IF_ERROR(line_.Echo(bytes, end_));
      const double took = std::chrono::duration<double>(clock_.Now() - begin).count();
      next = std::min(next, std::max(shortest, took));
      shortest = std::min(shortest, took);
      if (4 * took > Left() && (bytes > 0 || i > 0)) break;
      const double agree = shortest > long_ ? kAgreeLong : kAgree;
      if (bytes > 0 && next <= agree * shortest) break;
    }
    return shortest;
  }
  double Left() const { return std::chrono::duration<double>(end_ - clock_.Now()).count(); }

 private:
  EchoLine& line_;
  const Clock& clock_;
  const Clock::TimePoint end_;
  const double long_;  // in seconds
};

}  // namespace

Result<LinkModel> MeasureLink(EchoLine& line, const Clock& clock, const LinkLimits& limits) {
  Stopwatch watch(line, clock, limits);
  ASSIGN_OR_RETURN(const double empty, watch.Shortest(0, kEmptyEchoes));
  LinkModel link{.latency = empty / 2, .source = RateSource::kMeasured};
  double took = 0;
  for (const int64_t size : kSizes) {
    // Each is eight times the one before, at most.
    const bool is_first = took == 0;
    if (!is_first && 8 * took > watch.Left()) break;
    ASSIGN_OR_RETURN(took, watch.Shortest(size, kSameSize));
    link.bytes_per_second = took > empty ? static_cast<double>(size) / (took - empty) : kNever;
    if (took > std::chrono::duration<double>(limits.enough).count()) break;
  }
  if (took <= empty && 8 * took > watch.Left()) {
    return DeadlineExceeded("there was no time for bytes enough to tell from none");
  }
  return link;
}

}  // namespace thalweg
