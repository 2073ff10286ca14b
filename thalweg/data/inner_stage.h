// SPDX-License-Identifier: Apache-2.0
// InnerStage: a stage inside of another one, of a dataset that a function has made. As a function
// may make datasets of itself, they are bounded, in depth and in number.
//
//   ASSIGN_OR_RETURN(InnerStage inner, InnerStage::Open(poller, dataset));
//   ASSIGN_OR_RETURN(const Poll poll, inner.Next(poller, &element));
//
// Ownership: the stage that has opened it.
// Threads: one at a time.
// Errors: ResourceExhausted where they are too deep inside of each other, or too many.
#pragma once

#include <memory>
#include <utility>

#include "thalweg/data/dataset.h"

namespace thalweg {

class InnerStage {
 public:
  InnerStage() = default;
  // `buffer`, `first_in_turn`: see PrefetchStage; 0: none.
  static Result<InnerStage> Open(const Poller& poller, const DatasetPtr& dataset,
                                 int64_t buffer = 0, bool first_in_turn = true);
  InnerStage(InnerStage&& other) noexcept { *this = std::move(other); }
  InnerStage& operator=(InnerStage&& other) noexcept {
    std::swap(pipeline_, other.pipeline_);
    std::swap(stage_, other.stage_);
    std::swap(depth_, other.depth_);
    return *this;
  }
  ~InnerStage();

  void BeginAhead() { stage_->BeginAhead(); }
  bool is_open() const { return stage_ != nullptr; }
  Result<Poll> Next(const Poller& poller, Element* out) {
    return stage_->Next(Poller(poller, depth_), out);
  }
  Result<Poll> Save(const Poller& poller, StateWriter& writer) const {
    return stage_->Save(Poller(poller, depth_), writer);
  }
  Status Restore(const Poller& poller, StateReader& reader) {
    return stage_->Restore(Poller(poller, depth_), reader);
  }

 private:
  std::shared_ptr<Pipeline> pipeline_;
  StagePtr stage_;
  int depth_ = 0;
};

}  // namespace thalweg
