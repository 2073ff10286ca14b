// SPDX-License-Identifier: Apache-2.0
// QuantileStreams: as many sketches of quantiles as there are features, and the boundaries of
// buckets that were last made from each, as a resource that steps share.
//
//   RETURN_IF_ERROR(streams->Add(allocator, summaries));         // one of each feature
//   RETURN_IF_ERROR(streams->Flush(work, allocator, 100, false));  // boundaries, empty sketches
//   std::vector<float> first;
//   RETURN_IF_ERROR(streams->ReadBoundaries([&](const QuantileStreams::Boundaries& all) {
//     first = all[0];
//     return OkStatus();
//   }));
//
// What the sketches and boundaries hold is charged to the allocator of the call.
// Ownership: shared by the container and who holds it; ReadBoundaries lends them during the call.
// Threads: every member from any; each call sees the streams before or after another.
// Errors: InvalidArgument for another number of features; ResourceExhausted, Cancelled, which leave
// everything as it was.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/compute/work.h"
#include "thalweg/resources/quantile_sketch.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class QuantileStreams : public Resource {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::BoostedTreesQuantileStreamResource";
  using Boundaries = std::vector<std::vector<float>>;

  static Result<RefPtr<QuantileStreams>> Make(Allocator& allocator, float epsilon,
                                              int64_t max_elements, int64_t num_streams);

  int64_t num_streams() const { return num_streams_; }
  Status Add(Allocator& allocator, std::vector<QuantileSummary> summaries);
  // Boundaries from what was added; the sketches begin anew. `quantiles`: at even ranks.
  Status Flush(compute::Work& work, Allocator& allocator, int64_t num_buckets, bool quantiles);
  // What was added, instead of boundaries; the sketches begin anew.
  Result<std::vector<QuantileSummary>> TakeSummaries(Allocator& allocator, int64_t num_features);
  Status SetBoundaries(Allocator& allocator, Boundaries boundaries);
  // f(const Boundaries&) -> Status
  template <class F>
  Status ReadBoundaries(const F& f) const {
    MutexLock lock(mutex_);
    return f(boundaries_);
  }
  Status CheckNumber(int64_t num_features, std::string_view what) const;
  std::string DebugString() const override;

 private:
  QuantileStreams(float epsilon, int64_t max_elements, int64_t num_streams);
  size_t Bytes() const REQUIRES(mutex_);

  const QuantileSketch empty_;
  const int64_t num_streams_;
  mutable Mutex mutex_;
  std::vector<QuantileSketch> sketches_ GUARDED_BY(mutex_);
  Boundaries boundaries_ GUARDED_BY(mutex_);
  HeapCharge charge_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
