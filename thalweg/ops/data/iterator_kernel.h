// SPDX-License-Identifier: Apache-2.0
// Kernels that ask an iterator for something, that of input 0, and wait where they must.
// Ownership: a call keeps the resource and its pass until `done`; elements go to the outputs.
// Threads: as WaitingKernel.
// Errors: come to `done`: those of the stage; OutOfRange of GetNext at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "thalweg/data/iterator.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {

class IteratorKernel : public WaitingKernel {
 public:
  std::optional<Status> TryCompute(Context& ctx) final;
  void Wait(Context& ctx, Done done) final;
  std::string WaitsFor(Context& ctx) const final;

 protected:
  // The pass that is asked, and the resource that it is of.
  struct Asked {
    std::shared_ptr<Iteration> iteration;
    RefPtr<Resource> resource;
  };
  virtual Result<Asked> Find(Context& ctx) const;
  // Sets the outputs and says kElement, or what the stage says.
  virtual Result<Poll> Ask(Context& ctx, const Poller& poller, Stage& stage) = 0;
  // What the end of the elements means.
  virtual Status AtEnd(Context& ctx) = 0;

 private:
  Status Told(Context& ctx, const Result<Poll>& poll);
};

// The next element is what it gives; that there is none is OutOfRange.
class GetNextKernel : public IteratorKernel {
 public:
  explicit GetNextKernel(ElementSpec spec) : spec_(std::move(spec)) {}

 private:
  Result<Poll> Ask(Context& ctx, const Poller& poller, Stage& stage) override;
  Status AtEnd(Context& ctx) override;

  const ElementSpec spec_;
};

}  // namespace thalweg
