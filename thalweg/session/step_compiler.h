// SPDX-License-Identifier: Apache-2.0
// StepCompiler: from a signature to what runs: checks it, prunes, folds, merges, places,
// partitions, and has the runner prepare the parts.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<StepPlan> plan, compiler.Compile(signature, work));
//   RETURN_IF_ERROR(plan->CheckFeeds(values));
//
// Ownership: what it is made with outlives it; a plan shares its graphs and outlives the cache.
// Threads: one Compile at a time; a StepPlan is read-only.
// Errors: InvalidArgument for a feed, fetch or target, which it names with what is wrong; those of
// passes, placer and runner; those of `work`.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "thalweg/kernel/evaluator.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/passes/pass_table.h"
#include "thalweg/passes/place.h"
#include "thalweg/session/function_plans.h"
#include "thalweg/session/partition_runner.h"
#include "thalweg/session/session.h"

namespace thalweg {

// A compiled signature.
struct StepPlan {
  Signature signature;
  std::vector<StepPartition> parts;
  std::unique_ptr<PreparedStep> prepared;
  // Fetch i of the signature is fetch fetch_from[i] of the parts or, below zero, feed
  // -1 - fetch_from[i].
  std::vector<int> fetch_from;
  int num_part_fetches = 0;
  bool fetches_in_order = false;  // fetch_from is 0, 1, 2 ...
  uint64_t reset_count = 0;       // of the containers when it was made
  uint64_t costs_version = 0;     // of those that it was placed by

  // dtype and shape of each value against the fed edge.
  Status CheckFeeds(std::span<const Tensor> values) const;
};

class StepCompiler {
 public:
  struct Options {
    PassSet passes;
    int64_t fold_limit_bytes = 0;
    Logger placement_log;  // hears where each node goes, once
    bool log_placement = false;
    PartitionOptions partition;
    std::vector<Device*> devices;
    const KernelRegistry* kernels = nullptr;
    bool schedule_receives = false;  // of values from other tasks
  };
  // All outlive the compiler.
  StepCompiler(const Graph& graph, Placer& placer, Evaluator& evaluator, PartitionRunner& runner,
               Options options)
      : graph_(graph),
        placer_(placer),
        evaluator_(evaluator),
        runner_(runner),
        options_(std::move(options)) {}

  // Every phase counts in `work` what it visits, and ends with its error.
  Result<std::shared_ptr<StepPlan>> Compile(const Signature& signature, WorkBudget& work);
  // The graph of the step before and after rewriting, its memory and its program, as text.
  Result<std::string> Describe(const Signature& signature, WorkBudget& work);
  // For partial runs: feeds arrive, and fetches leave, through StepRequest::feeds_and_fetches,
  // under PartialKey(). The plan has neither feeds nor fetches of its own.
  // The graph of a call that a step comes to while it runs: its values are fed and fetched, in
  // order.
  Result<StepGraph> ExpandCall(const RuntimeCall& call, WorkBudget& work);
  Result<std::shared_ptr<StepPlan>> CompilePartial(const Signature& signature, WorkBudget& work);

 private:
  Status Check(const Signature& signature) const;
  Status LogPlacement(const StepGraph& step);
  Result<StepGraph> Rewrite(StepGraph step);
  Status Finish(const StepGraph& step, StepPlan* plan);

  const Graph& graph_;
  Placer& placer_;
  Evaluator& evaluator_;
  PartitionRunner& runner_;
  const Options options_;
  std::unordered_set<std::string> logged_;  // nodes whose place was written
};

// The key of a feed or fetch of a partial run; `client` is the first device's full name.
RendezvousKey PartialKey(const Device& client, std::string_view kind, int number);

}  // namespace thalweg
