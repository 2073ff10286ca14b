// SPDX-License-Identifier: Apache-2.0
// ProgressFn: what long work on files tells while it goes on, and asks whether it should.
//
//   Progress progress(tell, total_bytes);
//   RETURN_IF_ERROR(progress.Add(n));  // the error of `tell`, which is asked once in a megabyte
//
// Ownership: a copy of the function; what that points at outlives it.
// Threads: one; `tell` is called on the thread that does the work.
// Errors: that of `tell`, which ends the work.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "thalweg/base/status.h"

namespace thalweg {

// Bytes that are done, of how many; 0 where that is not known. An error ends the work: whoever
// wants to stop it gives Cancelled.
using ProgressFn = std::function<Status(uint64_t done, uint64_t total)>;

class Progress {
 public:
  Progress(ProgressFn tell, uint64_t total) : tell_(std::move(tell)), total_(total) {}
  // So many bytes more than was known.
  void Expect(uint64_t bytes) { total_ += bytes; }
  Status Add(uint64_t bytes) {
    constexpr uint64_t kTellBytes = uint64_t{1} << 20;
    done_ += bytes;
    if (!tell_ || done_ < next_) return OkStatus();
    next_ = done_ + kTellBytes;
    return tell_(done_, total_);
  }
  uint64_t done() const { return done_; }

 private:
  ProgressFn tell_;
  uint64_t total_;
  uint64_t done_ = 0;
  uint64_t next_ = 0;
};

}  // namespace thalweg
