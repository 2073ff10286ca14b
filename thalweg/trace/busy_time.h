// SPDX-License-Identifier: Apache-2.0
// BusyTime: a set of moments, made of intervals.
//
//   BusyTime busy;
//   busy.Add(0, 5);
//   busy.Add(3, 9);
//   busy.Finish();
//   Use(busy.total(), busy.Within(4, 20));  // 9, 5
//
// Ownership: owns its intervals.
// Threads: one fills it; then reading from any.
// Errors: none; an interval that ends before it begins is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace thalweg {

class BusyTime {
 public:
  void Add(int64_t begin, int64_t end) {
    if (end <= begin) return;
    // What comes by its begin, as spans do, takes no room of its own where it overlaps.
    if (!parts_.empty() && begin >= parts_.back().begin && begin <= parts_.back().end) {
      parts_.back().end = std::max(parts_.back().end, end);
    } else {
      parts_.push_back({begin, end, 0});
    }
  }
  // After the last Add.
  void Finish() {
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.begin < b.begin; });
    size_t kept = 0;
    for (const Part& part : parts_) {
      if (kept > 0 && part.begin <= parts_[kept - 1].end) {
        parts_[kept - 1].end = std::max(parts_[kept - 1].end, part.end);
      } else {
        parts_[kept++] = part;
      }
    }
    parts_.resize(kept);
    total_ = 0;
    for (Part& part : parts_) {
      part.before = total_;
      total_ += part.end - part.begin;
    }
  }
  int64_t total() const { return total_; }
  int64_t Within(int64_t begin, int64_t end) const {
    return end <= begin ? 0 : Before(end) - Before(begin);
  }

 private:
  struct Part {
    int64_t begin, end;
    int64_t before;  // the length of all that come earlier
  };
  int64_t Before(int64_t moment) const {
    const auto next =
        std::upper_bound(parts_.begin(), parts_.end(), moment,
                         [](int64_t value, const Part& part) { return value < part.begin; });
    if (next == parts_.begin()) return 0;
    const Part& part = *std::prev(next);
    return part.before + std::min(moment, part.end) - part.begin;
  }

  std::vector<Part> parts_;
  int64_t total_ = 0;
};

}  // namespace thalweg
