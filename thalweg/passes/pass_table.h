// SPDX-License-Identifier: Apache-2.0
// PassTable: the passes that rewrite the graph of a step, in the order in which they run; PassSet:
// those that a session wants, said in words.
//
//   ASSIGN_OR_RETURN(PassSet passes, PassSet::Parse("-cse,-join_products"));
//   ASSIGN_OR_RETURN(step, RunPasses(std::move(step), passes, context));
//
// A word is the name of a pass, "rewrites" (those that change a graph but not its values, which a
// task does for its own part), "all" or "none"; "-" before it switches off, "+" or nothing on. The
// last word about a pass counts; one without a word is as the table says. Two more words, of which
// neither "all" nor "none" speaks, say how nodes are placed: "place_by_cost" and "place_by_search"
// (placement_method.h). How to add a pass: docs/howto/add_a_pass.md.
// Ownership: the table is static; what the context names is used during the call.
// Threads: any.
// Errors: InvalidArgument for a word that is none, with the nearest and all there are; those of a
// pass, and of the budget of the step's compilation, which hears what runs.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "thalweg/kernel/evaluator.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/passes/pass.h"
#include "thalweg/passes/placement_method.h"

namespace thalweg {

// What passes work with beside the graph. All outlives the call.
struct PassContext {
  Evaluator& evaluator;
  int64_t fold_limit_bytes = 0;  // of one folded tensor
  const KernelRegistry& kernels;
  bool cpu_only = true;                // of all devices of the session
  bool host_addressable = true;        // the memory of all of them
  const Graph* first_graph = nullptr;  // the step's before it was rewritten at all
};

struct Pass {
  enum class Needs : uint8_t { kNothing, kHostMemory, kCpuOnly, kRewrittenGraph };

  std::string_view name;
  Needs needs;
  bool is_rewrite;        // one of "rewrites"
  bool is_on;             // where no word says
  std::string_view does;  // "merging equal nodes": for messages
  Result<StepGraph> (*run)(StepGraph step, const PassContext& context);
};

std::span<const Pass> PassTable();

class PassSet {
 public:
  static Result<PassSet> Parse(std::string_view words);
  // By place in the table, or by name; false for a name that is none.
  bool Has(size_t place) const { return on_[place]; }
  bool Has(std::string_view name) const;
  // None where no word says.
  std::optional<PlacementMethod> placement() const { return placement_; }

 private:
  std::bitset<64> on_;
  std::optional<PlacementMethod> placement_;
};

Result<StepGraph> RunPasses(StepGraph step, const PassSet& passes, const PassContext& context);

}  // namespace thalweg
