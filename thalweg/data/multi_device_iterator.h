// SPDX-License-Identifier: Apache-2.0
// MultiDeviceIterator: the resource from which several devices of a process take the elements of
// one pass in turn.
//
//   ASSIGN_OR_RETURN(const int64_t incarnation, iterator->Begin(dataset, 1, ctx.step()));
//   ASSIGN_OR_RETURN(const auto shard, iterator->Shard(0, incarnation));
//
// Ownership: the pass ends with the iterator, or with the next Begin; who waits for it then is
// Cancelled.
// Threads: all calls from any.
// Errors: InvalidArgument for a shard there is not, and for an incarnation that is over;
// FailedPrecondition before the first Begin.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/data/iteration.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class MultiDeviceIterator : public Resource {
 public:
  MultiDeviceIterator(ElementSpec spec, size_t devices)
      : spec_(std::move(spec)), devices_(devices) {}
  ~MultiDeviceIterator() override { End(); }
  std::string DebugString() const override;

  const ElementSpec& spec() const { return spec_; }
  size_t devices() const { return devices_; }
  // A new pass, of which each device's elements wait for it, `buffer` of them; gives its number.
  Result<int64_t> Begin(const DatasetPtr& dataset, size_t buffer, const StepContext& step)
      EXCLUDES(mutex_);
  Result<std::shared_ptr<Iteration>> Shard(int64_t shard, int64_t incarnation) const
      EXCLUDES(mutex_);
  void End() EXCLUDES(mutex_);

 private:
  const ElementSpec spec_;
  const size_t devices_;
  mutable Mutex mutex_;
  int64_t incarnation_ GUARDED_BY(mutex_) = 0;
  std::vector<std::shared_ptr<Iteration>> shards_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
