// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/pass_table.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "thalweg/graph/nearest_names.h"
#include "thalweg/passes/channels_last.h"
#include "thalweg/passes/check_numerics.h"
#include "thalweg/passes/cse.h"
#include "thalweg/passes/enqueue_records.h"
#include "thalweg/passes/fold_constants.h"
#include "thalweg/passes/fuse_elementwise.h"
#include "thalweg/passes/fuse_epilogue.h"
#include "thalweg/passes/join_loop_products.h"
#include "thalweg/passes/join_products.h"
#include "thalweg/passes/prune.h"
#include "thalweg/passes/share_packed.h"

namespace thalweg {
namespace {

using Needs = Pass::Needs;

// Those that make operations which only the CPU has need kHostMemory: they would take nodes away
// from a device with memory of its own.
//
// The one list of them: nothing else names all passes. None changes what a step computes, to the
// last bit but for channels_last and join_products, which add in another order.
constexpr auto kPasses = std::to_array<Pass>({
    // Computes once what depends on constants alone.
    {"fold_constants", Needs::kNothing, false, true, "folding constants",
     [](StepGraph step, const PassContext& context) {
       return FoldConstants(step, context.evaluator, context.fold_limit_bytes);
     }},
    // Merges equal stateless nodes.
    {"cse", Needs::kNothing, false, true, "merging equal nodes",
     [](StepGraph step, const PassContext&) { return MergeCommonSubexpressions(step); }},
    // Drops what the others made useless.
    {"prune", Needs::kRewrittenGraph, false, true, "pruning",
     [](StepGraph step, const PassContext&) { return Prune(step); }},
    // Stops the step at its first value that is not finite.
    {"check_numerics", Needs::kNothing, false, false, "putting checks of numbers in",
     [](StepGraph step, const PassContext&) { return CheckNumerics(step); }},
    // Lays channels-first images out as channels-last ones.
    {"channels_last", Needs::kCpuOnly, true, true, "laying images out",
     [](StepGraph step, const PassContext&) { return ChannelsLast(step); }},
    // Makes one product of a sum of products, also over the iterations of a loop.
    {"join_products", Needs::kHostMemory, true, true, "joining products",
     [](StepGraph step, const PassContext&) -> Result<StepGraph> {
       ASSIGN_OR_RETURN(step, JoinProducts(step));
       return JoinLoopProducts(step);
     }},
    // Lets products and convolutions take bias, normalization and activation along.
    {"fuse_epilogue", Needs::kHostMemory, true, true, "fusing epilogues",
     [](StepGraph step, const PassContext&) { return FuseEpilogues(step); }},
    // Keeps weights packed from step to step.
    {"pack_weights", Needs::kHostMemory, true, true, "packing weights",
     [](StepGraph step, const PassContext&) -> Result<StepGraph> {
       ASSIGN_OR_RETURN(step, MarkWeights(step));
       return SharePacked(step);
     }},
    // Lets steps of a queue's runner enqueue several records.
    {"enqueue_records", Needs::kHostMemory, true, true, "looking for enqueued records",
     [](StepGraph step, const PassContext&) { return EnqueueRecords(step); }},
    // Makes one node of a tree of element-wise ones.
    {"fuse_elementwise", Needs::kCpuOnly, true, true, "fusing element-wise nodes",
     [](StepGraph step, const PassContext& context) {
       return FuseElementwise(step, context.kernels);
     }},
});
static_assert(kPasses.size() <= 64);  // PassSet's bits

bool IsMet(Needs needs, const StepGraph& step, const PassContext& context) {
  switch (needs) {
    case Needs::kNothing:
      return true;
    case Needs::kHostMemory:
      return context.host_addressable;
    case Needs::kCpuOnly:
      return context.cpu_only;
    case Needs::kRewrittenGraph:
      return step.graph.get() != context.first_graph;
  }
  return false;
}

std::string_view Trimmed(std::string_view word) {
  constexpr std::string_view kSpace = " \t";
  const size_t begin = word.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return word.substr(begin, word.find_last_not_of(kSpace) + 1 - begin);
}

Status NoSuchPass(std::string_view word) {
  NearestNames near(word);
  for (const std::string_view other :
       {"all", "none", "rewrites", "place_by_cost", "place_by_search"}) {
    near.Add(other);
  }
  std::string list;
  for (const Pass& pass : kPasses) {
    near.Add(pass.name);
    list += StrCat(list.empty() ? "" : ", ", pass.name);
  }
  return InvalidArgument(
      "passes: there is no pass '", word, "'", near.ToString(), "; the passes are ", list,
      ", and the words all, none and rewrites; place_by_cost and place_by_search say how "
      "nodes are placed");
}

}  // namespace

std::span<const Pass> PassTable() { return kPasses; }

Result<PassSet> PassSet::Parse(std::string_view words) {
  PassSet set;
  for (size_t i = 0; i < kPasses.size(); ++i) set.on_[i] = kPasses[i].is_on;
  while (!words.empty()) {
    const size_t end = std::min(words.find(','), words.size());
    std::string_view word = Trimmed(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
    if (word.empty()) continue;
    bool on = word.front() != '-';
    if (word.front() == '-' || word.front() == '+') word.remove_prefix(1);
    const bool all = word == "all" || word == "none";
    if (word == "none") on = !on;
    bool found = all;
    if (word == "place_by_cost" || word == "place_by_search") {
      found = true;
      set.placement_ = !on                         ? PlacementMethod::kPreferred
                       : word == "place_by_search" ? PlacementMethod::kSearched
                                                   : PlacementMethod::kGreedy;
    }
    for (size_t i = 0; i < kPasses.size(); ++i) {
      // "all" is what makes steps faster.
      const bool meant = (all && (kPasses[i].is_on || !on)) || kPasses[i].name == word ||
                         (word == "rewrites" && kPasses[i].is_rewrite);
      if (meant) set.on_[i] = on;
      found |= meant;
    }
    if (!found) return NoSuchPass(word);
  }
  return set;
}

bool PassSet::Has(std::string_view name) const {
  for (size_t i = 0; i < kPasses.size(); ++i) {
    if (kPasses[i].name == name) return on_[i];
  }
  return false;
}

Result<StepGraph> RunPasses(StepGraph step, const PassSet& passes, const PassContext& context) {
  for (size_t i = 0; i < kPasses.size(); ++i) {
    if (!passes.Has(i) || !IsMet(kPasses[i].needs, step, context)) continue;
    RETURN_IF_ERROR(step.work->Begin(kPasses[i].does));
    ASSIGN_OR_RETURN(step, kPasses[i].run(std::move(step), context));
  }
  return step;
}

}  // namespace thalweg
