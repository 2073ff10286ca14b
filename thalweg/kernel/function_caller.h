// SPDX-License-Identifier: Apache-2.0
// FunctionCaller: who runs functions that are called while a step runs, in the resources of a step
// that may do so, as kFunctionCaller.
//
//   ASSIGN_OR_RETURN(auto caller, step_resources.Lookup<FunctionCaller>("", kFunctionCaller));
//   caller->Call(ctx, {.name = "f", .attrs = attrs}, std::move(done));
//
// A call is a step inside of the step: it shares the outer one's cancellation, rendezvous and
// resources, and runs on its threads.
// Ownership: the resources of the step hold it; it keeps ctx, not the call, until `done`.
// Threads: all calls from any.
// Errors: come to `done`: those of the function, ResourceExhausted where calls are too deep inside
// each other.
#pragma once

#include <string_view>

#include "thalweg/graph/attr_value.h"
#include "thalweg/kernel/kernel.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class FunctionCaller : public Resource {
 public:
  // Runs a node of operation `call.name` with these attributes on the kernel's inputs and sets the
  // kernel's outputs. Returns at once; holds no thread while the function waits.
  // Errors: those of the function; ResourceExhausted where calls are too deep inside each other.
  virtual void Call(Context& ctx, const FunctionRef& call, Done done) = 0;
};
inline constexpr std::string_view kFunctionCaller = "function_caller";

}  // namespace thalweg
