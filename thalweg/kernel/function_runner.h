// SPDX-License-Identifier: Apache-2.0
// FunctionRunner: runs functions of a session's graph outside of any step, for what goes on between
// steps (datasets). In the resources of a step whose nodes name functions, as kFunctionRunner.
//
//   ASSIGN_OR_RETURN(auto runner, resources.Lookup<FunctionRunner>("", kFunctionRunner));
//   ASSIGN_OR_RETURN(auto f, runner->Bind(function, types, ctx.device(), cancellation));
//   f->Start(args, cancellation, [](Result<std::vector<Tensor>> results) { ... });
//   const auto call = f->Repeat(cancellation);           // for who calls it again and again
//
// Ownership: a BoundFunction may outlive the session; its calls are Cancelled then.
// Threads: all calls from any.
// Errors: those of the function, with the names and lines of its nodes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "thalweg/graph/attr_value.h"
#include "thalweg/kernel/device.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class CancellationManager;

// Calls of a function that never waits, by one caller, one after the other: what they need is made
// once.
class RepeatedCall {
 public:
  virtual ~RepeatedCall() = default;
  // To its end, in this thread.
  virtual Status Run(std::span<const Tensor> args, std::vector<Tensor>* results) = 0;
};

// A function compiled for one device and the types of its arguments.
class BoundFunction {
 public:
  using Done = std::function<void(Result<std::vector<Tensor>>)>;

  virtual ~BoundFunction() = default;
  // None of its kernels waits for anybody: Run() and Repeat() may be called.
  virtual bool never_waits() const = 0;
  virtual std::vector<DType> result_types() const = 0;
  // To its end, in this thread.
  virtual Status Run(std::span<const Tensor> args, CancellationManager* cancellation,
                     std::vector<Tensor>* results) = 0;
  // `cancellation` outlives what is given.
  virtual std::unique_ptr<RepeatedCall> Repeat(CancellationManager* cancellation) = 0;
  // On the session's threads, and on none while it waits. `done` is called once, from any thread,
  // maybe before Start returns; `cancellation` lives until then.
  virtual void Start(std::vector<Tensor> args, CancellationManager* cancellation, Done done) = 0;
};

class FunctionRunner : public Resource {
 public:
  // Functions with state of their own (random numbers) get it anew with every Bind.
  virtual Result<std::shared_ptr<BoundFunction>> Bind(const FunctionRef& function,
                                                      std::vector<DType> args, Device& device,
                                                      CancellationManager* cancellation) = 0;
};
inline constexpr std::string_view kFunctionRunner = "function_runner";

}  // namespace thalweg
