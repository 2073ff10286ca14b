// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/quantile_streams.h"

#include <limits>
#include <span>
#include <utility>

#include "thalweg/compute/interruptible.h"

namespace thalweg {
namespace {

constexpr size_t kBytesOfStream = sizeof(QuantileSketch) + sizeof(std::vector<float>);

size_t BytesOf(const QuantileStreams::Boundaries& boundaries) {
  size_t bytes = 0;
  for (const std::vector<float>& b : boundaries) bytes += b.size() * sizeof(float);
  return bytes;
}

}  // namespace

QuantileStreams::QuantileStreams(float epsilon, int64_t max_elements, int64_t num_streams)
    : empty_(static_cast<double>(epsilon), max_elements), num_streams_(num_streams) {
  MutexLock lock(mutex_);
  sketches_.assign(static_cast<size_t>(num_streams), empty_);
  boundaries_.resize(static_cast<size_t>(num_streams));
}

Result<RefPtr<QuantileStreams>> QuantileStreams::Make(Allocator& allocator, float epsilon,
                                                      int64_t max_elements, int64_t num_streams) {
  if (!(epsilon > 0)) {
    return InvalidArgument("An epsilon value of zero is not allowed. It must be above, got ",
                           epsilon);
  }
  if (epsilon >= 1) return InvalidArgument("epsilon must be below 1, got ", epsilon);
  if (max_elements <= 0) {
    return InvalidArgument("max_elements must be above 0, got ", max_elements);
  }
  if (num_streams < 0 || num_streams > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("num_streams must be a number of features, got ", num_streams);
  }
  HeapCharge charge;
  RETURN_IF_ERROR(charge.Set(allocator, static_cast<size_t>(num_streams) * kBytesOfStream));
  RefPtr<QuantileStreams> made =
      RefPtr<QuantileStreams>::Adopt(new QuantileStreams(epsilon, max_elements, num_streams));
  charge.Clear();
  MutexLock lock(made->mutex_);
  RETURN_IF_ERROR(made->charge_.Set(allocator, made->Bytes()));
  return made;
}

Status QuantileStreams::CheckNumber(int64_t num_features, std::string_view what) const {
  if (num_features == num_streams_) return OkStatus();
  return InvalidArgument("expected ", what, " of ", num_streams_, " features, got ", num_features);
}

Status QuantileStreams::Add(Allocator& allocator, std::vector<QuantileSummary> summaries) {
  RETURN_IF_ERROR(CheckNumber(static_cast<int64_t>(summaries.size()), "summaries"));
  size_t more = 0;
  for (const QuantileSummary& summary : summaries) more += summary.size() * sizeof(QuantileEntry);
  MutexLock lock(mutex_);
  // Beside what there is, merging two summaries makes a third.
  RETURN_IF_ERROR(charge_.Set(allocator, 2 * (Bytes() + more)));
  for (size_t i = 0; i < summaries.size(); ++i) sketches_[i].Add(std::move(summaries[i]));
  return charge_.Set(allocator, Bytes());
}

Status QuantileStreams::Flush(compute::Work& work, Allocator& allocator, int64_t num_buckets,
                              bool quantiles) {
  constexpr int64_t kMostQuantiles = int64_t{1} << 30;
  if (quantiles && (num_buckets < 3 || num_buckets > kMostQuantiles)) {
    return InvalidArgument("num_buckets must be a number of quantiles, 3 at least, got ",
                           num_buckets);
  }
  MutexLock lock(mutex_);
  // Beside what there is: a merged summary, a copy of it, boundaries.
  size_t bytes = 4 * Bytes();
  if (quantiles) bytes += sketches_.size() * static_cast<size_t>(num_buckets) * sizeof(float);
  RETURN_IF_ERROR(charge_.Set(allocator, bytes));
  const std::span<const QuantileSketch> sketches(sketches_);  // the loop is in this very thread
  Boundaries made(sketches.size());
  RETURN_IF_ERROR(compute::Interruptibly(work, [&] {
    for (size_t i = 0; i < sketches.size(); ++i) {
      const QuantileSummary summary = QuantileSketch(sketches[i]).Finish();
      made[i] =
          quantiles ? QuantileValues(summary, num_buckets) : BoundaryValues(summary, num_buckets);
    }
  }));
  boundaries_ = std::move(made);
  sketches_.assign(sketches_.size(), empty_);
  return charge_.Set(allocator, Bytes());
}

Result<std::vector<QuantileSummary>> QuantileStreams::TakeSummaries(Allocator& allocator,
                                                                    int64_t num_features) {
  RETURN_IF_ERROR(CheckNumber(num_features, "summaries"));
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(charge_.Set(allocator, 3 * Bytes()));
  std::vector<QuantileSummary> summaries;
  for (QuantileSketch& sketch : sketches_) summaries.push_back(sketch.Finish());
  RETURN_IF_ERROR(charge_.Set(allocator, Bytes()));
  return summaries;
}

Status QuantileStreams::SetBoundaries(Allocator& allocator, Boundaries boundaries) {
  RETURN_IF_ERROR(CheckNumber(static_cast<int64_t>(boundaries.size()), "boundaries"));
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(charge_.Set(allocator, Bytes() + BytesOf(boundaries)));
  boundaries_ = std::move(boundaries);
  return charge_.Set(allocator, Bytes());
}

size_t QuantileStreams::Bytes() const {
  size_t bytes = sketches_.size() * kBytesOfStream + BytesOf(boundaries_);
  for (const QuantileSketch& s : sketches_) bytes += s.num_entries() * sizeof(QuantileEntry);
  return bytes;
}

std::string QuantileStreams::DebugString() const {
  return StrCat("quantile streams of ", num_streams_, " features");
}

}  // namespace thalweg
