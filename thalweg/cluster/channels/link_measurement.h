// SPDX-License-Identifier: Apache-2.0
// MeasureLink: what a link can do, by a few echoes of nothing and a few of more and more bytes.
//
//   ASSIGN_OR_RETURN(const LinkModel link, MeasureLink(line, clock));
//
// The answers to what is sent are small: the link is taken for alike both ways. The bytes are
// some ten megabytes, 33 where echoes of one size disagree, less where these take longer than
// milliseconds.
// Ownership: borrows during the call.
// Threads: one a line; waits.
// Errors: those of the line, which is not asked for more than LinkLimits::patience in all.
#pragma once

#include <chrono>
#include <cstdint>

#include "thalweg/base/clock.h"
#include "thalweg/base/status.h"
#include "thalweg/placement/machine.h"

namespace thalweg {

class EchoLine {
 public:
  virtual ~EchoLine() = default;
  // Returns when the other end has answered to so many bytes; an error where it has not until then.
  virtual Status Echo(int64_t bytes, Clock::TimePoint until) = 0;
};

struct LinkLimits {
  std::chrono::nanoseconds patience = std::chrono::milliseconds(500);
  std::chrono::nanoseconds enough = std::chrono::milliseconds(5);  // of what no larger one follows
};

Result<LinkModel> MeasureLink(EchoLine& line, const Clock& clock, const LinkLimits& limits = {});

}  // namespace thalweg
