// SPDX-License-Identifier: Apache-2.0
// Elements that are made once and given again: by the next pass over the dataset.
//
//   DatasetPtr cached = CacheDataset(input, memory);
//
// Ownership: the dataset shares its input and the memory, which the container holds too; elements
// are shared.
// Threads: every function from any, stages as stage.h says.
// Errors: none of its own; those of the input, and ResourceExhausted for no room.
#pragma once

#include <string>

#include "thalweg/base/mutex.h"
#include "thalweg/data/dataset.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

// Where the elements are. Threads: all calls from any.
class MemoryCache : public Resource {
 public:
  std::string DebugString() const override { return "elements of a cached dataset"; }
  // Null: no pass has been to the end yet.
  KeptElementsPtr Get() const EXCLUDES(mutex_);
  void Set(KeptElementsPtr elements) EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  KeptElementsPtr elements_ GUARDED_BY(mutex_);
};

// A pass that is not brought to its end leaves the cache as it was.
DatasetPtr CacheDataset(DatasetPtr input, RefPtr<MemoryCache> memory);

}  // namespace thalweg
