// SPDX-License-Identifier: Apache-2.0
// CallCounts: how large the calls of a step become at least, and how deep inside each other they
// are, counted over the graph of calls before anything is expanded: each function is looked at
// once, however often it is called. Private to this room.
//
//   CallCounts counts(expander, library, registry, options);
//   RETURN_IF_ERROR(counts.Add(*call));      // for each call of the step
//
// Ownership: expander, library and options outlive it; it shares the registry and keeps pointers to
// bodies of the library.
// Threads: one.
// Errors: ResourceExhausted where the limits are passed for certain, InvalidArgument for a function
// that calls itself whatever the values are ("f -> g -> f"). What depends on a condition, or cannot
// be looked at, counts for as little as it may be.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/passes/function_expander.h"

namespace thalweg {

class CallCounts {
 public:
  // All outlive the object.
  CallCounts(const FunctionExpander& expander, const FunctionLibrary& library,
             std::shared_ptr<const OpRegistry> registry, const ExpandOptions& options)
      : expander_(expander), library_(library), registry_(std::move(registry)), options_(options) {}

  // One more node of the step.
  Status Add(const Node& node);

 private:
  // At least.
  struct Size {
    int64_t nodes = 0;
    int depth = 0;  // calls inside each other
    bool is_open = false;
  };
  struct Open {
    std::string name;
    bool is_certain = false;  // that it is called, and all that its body calls
  };
  Result<Size> OfNode(const Node& node);
  Result<Size> OfFunction(const FunctionRef& function, bool is_certain);
  Status CheckEnd(const std::string& name) const;

  const FunctionExpander& expander_;
  const FunctionLibrary& library_;
  const std::shared_ptr<const OpRegistry> registry_;
  const ExpandOptions& options_;
  int64_t nodes_ = 0;
  std::vector<Open> open_;  // functions that are being looked at, inside each other
  // By body, each once; one that is being looked at counts as nothing.
  std::unordered_map<const FunctionBody*, Size> known_;
};

}  // namespace thalweg
