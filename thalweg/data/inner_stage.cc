// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/inner_stage.h"

#include "thalweg/data/prefetch.h"

namespace thalweg {
namespace {

// Each holds what it was made of, so all of them may be freed inside of each other.
constexpr int kMostInnerStages = 8192;

}  // namespace

Result<InnerStage> InnerStage::Open(const Poller& poller, const DatasetPtr& dataset, int64_t buffer,
                                    bool first_in_turn) {
  InnerStage inner;
  inner.depth_ = DatasetValue::DepthOf(dataset->length());
  if (poller.depth() + inner.depth_ > NestedVariant::kMaxDepth) {
    return ResourceExhausted("functions make datasets inside of each other more than ",
                             NestedVariant::kMaxDepth, " deep: does the innermost ever come?");
  }
  inner.pipeline_ = poller.pipeline();
  if (inner.pipeline_->inner_stages.fetch_add(1, std::memory_order_relaxed) >= kMostInnerStages) {
    return ResourceExhausted("functions have made more than ", kMostInnerStages,
                             " datasets whose elements are asked for at once");
  }
  const PipelineRef scope(inner.pipeline_, poller.depth() + inner.depth_, poller.scope().options);
  ASSIGN_OR_RETURN(StagePtr stage, dataset->MakeStage(scope));
  inner.stage_ = PrefetchStage(std::move(stage), buffer, scope, first_in_turn);
  return inner;
}

InnerStage::~InnerStage() {
  if (pipeline_ != nullptr) pipeline_->inner_stages.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace thalweg
