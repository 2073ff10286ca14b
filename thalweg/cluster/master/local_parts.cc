// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/local_parts.h"

#include <utility>

namespace thalweg {

Status LocalParts::Prepare(PartitionRunner& runner, std::vector<StepPartition> here,
                           const PrepareRequest& request) {
  if (here.empty()) return OkStatus();
  parts_ = std::move(here);
  for (StepPartition& part : parts_) {
    for (int& fetch : part.fetches) {
      fetches_.push_back(std::exchange(fetch, static_cast<int>(fetches_.size())));
    }
  }
  ASSIGN_OR_RETURN(step_, runner.Prepare({.parts = parts_,
                                          .num_feeds = request.num_feeds,
                                          .num_fetches = static_cast<int>(fetches_.size()),
                                          .work = request.work}));
  return OkStatus();
}

Status LocalParts::Run(StepRequest request) {
  if (empty()) return OkStatus();
  std::vector<Tensor> fetched(fetches_.size());
  const std::span<Tensor> wanted = request.fetches;
  request.fetches = fetched;
  RETURN_IF_ERROR(step_->Run(request));
  for (size_t i = 0; i < fetched.size(); ++i) wanted[fetches_[i]] = std::move(fetched[i]);
  return OkStatus();
}

void LocalParts::RunAsync(StepRequest request, std::function<void(Status)> done) {
  if (empty()) return done(OkStatus());
  const auto fetched = std::make_shared<std::vector<Tensor>>(fetches_.size());
  const std::span<Tensor> wanted = request.fetches;
  request.fetches = *fetched;
  step_->RunAsync(request, [this, fetched, wanted, done = std::move(done)](Status status) {
    for (size_t i = 0; status.ok() && i < fetched->size(); ++i) {
      wanted[fetches_[i]] = std::move((*fetched)[i]);
    }
    done(std::move(status));
  });
}

Result<StepMemory> LocalParts::PlanMemory(std::span<const Tensor> feeds) const {
  return empty() ? Result<StepMemory>(StepMemory()) : step_->PlanMemory(feeds);
}

}  // namespace thalweg
