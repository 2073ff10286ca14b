// SPDX-License-Identifier: Apache-2.0
// Elements in random order, TensorFlow's for the same seeds: of a buffer of the next elements each
// time any, whose place the next one takes.
//
//   ASSIGN_OR_RETURN(DatasetPtr shuffled, ShuffleDataset(input, {.buffer = 9, .seeds = seeds}));
//
// Ownership: a dataset shares its input and the seeds; a pass owns its buffer.
// Threads: datasets and seeds from any, stages as stage.h says.
// Errors: InvalidArgument for a buffer without places.
#pragma once

#include <string>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/data/dataset.h"
#include "thalweg/data/random_stream.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

// The seeds of passes over a dataset: the same for each, or, `reshuffle`, others for each. May be
// shared by several datasets. Threads: all calls from any.
class ShuffleSeeds : public Resource {
 public:
  // Two zeros: any seeds.
  ShuffleSeeds(int64_t seed, int64_t seed2, bool reshuffle);
  std::string DebugString() const override { return "seeds of a shuffled dataset"; }
  std::pair<uint64_t, uint64_t> Next() EXCLUDES(mutex_);
  // How far it has come, and to come there again.
  int64_t drawn() EXCLUDES(mutex_);
  void Restore(int64_t drawn) EXCLUDES(mutex_);

 private:
  const bool reshuffle_;
  uint64_t seed_;
  uint64_t seed2_;
  Mutex mutex_;
  RandomStream stream_ GUARDED_BY(mutex_);
};

struct ShuffleOptions {
  int64_t buffer = 0;  // kWholeInput: all of it
  int64_t count = 1;   // repetitions that go over into each other; negative: without end
  RefPtr<ShuffleSeeds> seeds;
};
inline constexpr int64_t kWholeInput = -2;

Result<DatasetPtr> ShuffleDataset(DatasetPtr input, const ShuffleOptions& options);

}  // namespace thalweg
