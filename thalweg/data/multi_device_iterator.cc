// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/multi_device_iterator.h"

#include "thalweg/data/dealer.h"

namespace thalweg {

std::string MultiDeviceIterator::DebugString() const {
  MutexLock lock(mutex_);
  return StrCat("an iterator of ", devices_, " devices",
                shards_.empty() ? " without a dataset" : "");
}

Result<int64_t> MultiDeviceIterator::Begin(const DatasetPtr& dataset, size_t buffer,
                                           const StepContext& step) {
  RETURN_IF_ERROR(spec_.Admits(dataset->spec()));
  const std::shared_ptr<Pipeline> pipeline = Iteration::PipelineOf(dataset, step);
  ASSIGN_OR_RETURN(StagePtr stage, dataset->MakeStage(pipeline));
  const auto dealer =
      std::make_shared<Dealer>(*step.queue, pipeline, std::move(stage), devices_, buffer);
  std::vector<std::shared_ptr<Iteration>> shards;
  for (size_t i = 0; i < devices_; ++i) {
    shards.push_back(std::make_shared<Iteration>(*step.queue, pipeline, HandOf(dealer, i)));
  }
  int64_t incarnation = 0;
  {
    MutexLock lock(mutex_);
    incarnation = ++incarnation_;
    std::swap(shards_, shards);
  }
  for (const auto& shard : shards) shard->Stop();
  return incarnation;
}

Result<std::shared_ptr<Iteration>> MultiDeviceIterator::Shard(int64_t shard,
                                                              int64_t incarnation) const {
  MutexLock lock(mutex_);
  if (shard < 0 || shard >= static_cast<int64_t>(devices_)) {
    return InvalidArgument("shard_num must be at least 0 and less than the ", devices_,
                           " devices of the iterator, got ", shard);
  }
  if (shards_.empty()) {
    return FailedPrecondition(
        "the iterator of several devices has no dataset yet: run its initializer before");
  }
  if (incarnation != incarnation_) {
    return InvalidArgument("Invalid incarnation id: expected ", incarnation_, ", got ", incarnation,
                           ": the iterator has begun anew since then");
  }
  return shards_[static_cast<size_t>(shard)];
}

void MultiDeviceIterator::End() {
  std::vector<std::shared_ptr<Iteration>> shards;
  {
    MutexLock lock(mutex_);
    std::swap(shards_, shards);
  }
  for (const auto& shard : shards) shard->Stop();
}

}  // namespace thalweg
