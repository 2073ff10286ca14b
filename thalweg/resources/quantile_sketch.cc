// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/quantile_sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/compute/sort.h"

namespace thalweg {
namespace {

float TotalWeight(const QuantileSummary& summary) {
  return summary.empty() ? 0.0F : summary.back().max_rank;
}

// How many values a block holds: as many levels of blocks as are needed have room for all values,
// and the errors of all levels together stay below epsilon.
int64_t BlockSize(double epsilon, int64_t max_values) {
  constexpr int64_t kMost = int64_t{1} << 60;
  if (epsilon <= std::numeric_limits<double>::epsilon()) {
    return std::clamp<int64_t>(max_values, 2, kMost);
  }
  double size = 2;
  for (int level = 1; level < 62 && std::ldexp(size, level) < static_cast<double>(max_values);
       ++level) {
    size = std::ceil(level / epsilon + 1);
  }
  return static_cast<int64_t>(std::clamp(size, 2.0, static_cast<double>(kMost)));
}

// Of sorted values, whose equals become one.
QuantileSummary SummaryOf(std::span<const std::pair<float, float>> sorted) {
  QuantileSummary summary;
  float rank = 0;
  for (size_t i = 0; i < sorted.size();) {
    const float value = sorted[i].first;
    float weight = sorted[i].second;
    for (++i; i < sorted.size() && sorted[i].first == value; ++i) weight += sorted[i].second;
    summary.push_back({value, weight, rank, rank + weight});
    rank += weight;
  }
  return summary;
}

// The entry of one summary among those of another, whose next entry is `next`; `before` is the rank
// behind the one before that.
QuantileEntry Between(const QuantileEntry& entry, float before, float next) {
  return {entry.value, entry.weight, entry.min_rank + before, entry.max_rank + next};
}

QuantileSummary Merge(QuantileSummary a, const QuantileSummary& b) {
  if (b.empty()) return a;
  if (a.empty()) return b;
  QuantileSummary merged;
  merged.reserve(a.size() + b.size());
  float before_a = 0, before_b = 0;
  auto i = a.begin();
  auto k = b.begin();
  while (i != a.end() && k != b.end()) {
    if (i->value < k->value) {
      merged.push_back(Between(*i, before_b, k->rank_before()));
      before_a = (i++)->rank_after();
    } else if (i->value > k->value) {
      merged.push_back(Between(*k, before_a, i->rank_before()));
      before_b = (k++)->rank_after();
    } else {
      merged.push_back(
          {i->value, i->weight + k->weight, i->min_rank + k->min_rank, i->max_rank + k->max_rank});
      before_a = (i++)->rank_after();
      before_b = (k++)->rank_after();
    }
  }
  for (; i != a.end(); ++i) merged.push_back(Between(*i, before_b, b.back().max_rank));
  for (; k != b.end(); ++k) merged.push_back(Between(*k, before_a, a.back().max_rank));
  return merged;
}

// Keeps about `size` entries: first and last, and of those between one where the next would leave
// a gap of more than the error allows, or where as many were passed over as are to go.
void Compress(QuantileSummary& summary, int64_t size, double min_epsilon) {
  size = std::max<int64_t>(size, 2);
  const int64_t count = static_cast<int64_t>(summary.size());
  if (count <= size) return;
  const double gap = static_cast<double>(TotalWeight(summary)) *
                     std::max(1.0 / static_cast<double>(size), min_epsilon);
  int64_t passed = 0, written = 1, last = 1;
  for (int64_t read = 0; read + 1 < count;) {
    int64_t next = read + 1;
    while (next < count && passed < count &&
           static_cast<double>(summary[static_cast<size_t>(next)].rank_before() -
                               summary[static_cast<size_t>(read)].rank_after()) <= gap) {
      passed += size;
      ++next;
    }
    read = read == next - 1 ? read + 1 : next - 1;
    summary[static_cast<size_t>(written++)] = summary[static_cast<size_t>(read)];
    last = read;
    passed -= count;
  }
  if (last + 1 < count) summary[static_cast<size_t>(written++)] = summary.back();
  summary.resize(static_cast<size_t>(written));
  summary.shrink_to_fit();  // a sketch keeps it
}

// By how much of the total weight a rank may be wrong.
float Error(const QuantileSummary& summary) {
  float gap = 0;
  for (size_t i = 1; i < summary.size(); ++i) {
    const QuantileEntry& e = summary[i];
    gap = std::max(gap, std::max(e.max_rank - e.min_rank - e.weight,
                                 e.rank_before() - summary[i - 1].rank_after()));
  }
  return summary.empty() ? 0.0F : gap / TotalWeight(summary);
}

}  // namespace

QuantileSketch::QuantileSketch(double epsilon, int64_t max_values)
    : epsilon_(epsilon),
      block_size_(BlockSize(epsilon, max_values)),
      buffer_size_(std::max<int64_t>(std::min(2 * block_size_, max_values), 1)) {}

Status QuantileSketch::AddValues(compute::Work& work, std::span<const float> values,
                                 std::span<const float> weights) {
  std::vector<std::pair<float, float>> buffer;
  const auto flush = [&]() -> Status {
    RETURN_IF_ERROR(compute::Sort(work, buffer.begin(), buffer.end(),
                                  [](const auto& a, const auto& b) { return a.first < b.first; }));
    QuantileSummary local = SummaryOf(buffer);
    Compress(local, block_size_, epsilon_);
    Propagate(std::move(local));
    buffer.clear();
    return OkStatus();
  };
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    buffer.emplace_back(values[i], weights[i]);
    if (static_cast<int64_t>(buffer.size()) == buffer_size_) RETURN_IF_ERROR(flush());
  }
  return flush();
}

void QuantileSketch::Add(QuantileSummary summary) {
  Compress(summary, block_size_, epsilon_);
  Propagate(std::move(summary));
}

QuantileSummary QuantileSketch::Finish() {
  QuantileSummary all;
  for (const QuantileSummary& level : levels_) all = Merge(std::move(all), level);
  levels_.clear();
  return all;
}

size_t QuantileSketch::num_entries() const {
  size_t entries = 0;
  for (const QuantileSummary& level : levels_) entries += level.size();
  return entries;
}

void QuantileSketch::Propagate(QuantileSummary local) {
  if (local.empty()) return;
  for (size_t level = 0;; ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    QuantileSummary& there = levels_[level];
    const bool was_empty = there.empty();
    local = Merge(std::move(local), there);
    if (was_empty || static_cast<int64_t>(local.size()) <= block_size_ + 1) {
      there = std::move(local);
      return;
    }
    Compress(local, block_size_, epsilon_);
    there.clear();
  }
}

std::vector<float> BoundaryValues(const QuantileSummary& summary, int64_t count) {
  QuantileSummary fewer = summary;
  const auto epsilon =
      static_cast<float>(static_cast<double>(Error(summary)) + 1.0 / static_cast<double>(count));
  Compress(fewer, count, static_cast<double>(epsilon));
  std::vector<float> values;
  for (const QuantileEntry& entry : fewer) {
    if (values.empty() || values.back() != entry.value) values.push_back(entry.value);
  }
  return values;
}

std::vector<float> QuantileValues(const QuantileSummary& summary, int64_t count) {
  std::vector<float> values;
  if (summary.empty()) return values;
  values.reserve(static_cast<size_t>(count));
  size_t current = 0;
  const auto parts = static_cast<float>(count - 1);
  for (int64_t i = 0; i < count; ++i) {
    compute::Interruption::Look();
    const float twice = 2 * (static_cast<float>(i) * summary.back().max_rank / parts);
    size_t next = current + 1;
    while (next < summary.size() && twice >= summary[next].min_rank + summary[next].max_rank) {
      ++next;
    }
    current = next - 1;
    const bool is_current = next == summary.size() ||
                            twice < summary[current].rank_after() + summary[next].rank_before();
    values.push_back(summary[is_current ? current : next].value);
  }
  return values;
}

}  // namespace thalweg
