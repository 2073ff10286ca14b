// SPDX-License-Identifier: Apache-2.0
// Iterator: the resource that steps take elements from: a place for a pass over a dataset, which
// begins anew whenever it is given one.
//
//   RETURN_IF_ERROR(iterator->Begin(dataset, ctx.step()));
//   ASSIGN_OR_RETURN(const auto iteration, iterator->Current());
//
// Ownership: the pass ends with the iterator, or with the next Begin; steps that wait for it then
// are Cancelled. Who waits for it holds the iterator.
// Threads: all calls from any.
// Errors: InvalidArgument for a dataset of other elements; FailedPrecondition before the first
// Begin.
#pragma once

#include <memory>
#include <string>

#include "thalweg/base/mutex.h"
#include "thalweg/data/iteration.h"
#include "thalweg/data/iterator_state.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class Iterator : public Resource {
 public:
  explicit Iterator(ElementSpec spec) : spec_(std::move(spec)) {}
  ~Iterator() override { End(); }
  std::string DebugString() const override;

  const ElementSpec& spec() const { return spec_; }
  Status Begin(const DatasetPtr& dataset, const StepContext& step) EXCLUDES(mutex_);
  // A pass over the same dataset that stands where `state` says.
  Status Restore(IteratorState state, const StepContext& step) EXCLUDES(mutex_);
  Result<std::shared_ptr<Iteration>> Current() const EXCLUDES(mutex_);
  void End() EXCLUDES(mutex_);

 private:
  void Replace(const DatasetPtr& dataset, std::shared_ptr<Iteration> iteration) EXCLUDES(mutex_);

  const ElementSpec spec_;
  mutable Mutex mutex_;
  DatasetPtr dataset_ GUARDED_BY(mutex_);
  std::shared_ptr<Iteration> iteration_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
