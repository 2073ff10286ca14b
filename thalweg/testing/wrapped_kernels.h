// SPDX-License-Identifier: Apache-2.0
// WrappedKernels: every kernel of a registry, with an object of a test's own around each call.
//
//   struct Counting { Counting(const std::string& op, Context& ctx) { ++Calls()[op]; } };
//   WrappedKernels<Counting>::Wrap(originals, registry);
//
// The object lives until the call returns; of an asynchronous kernel, not while that waits.
// Ownership: the originals stay; those of the last Wrap are what kernels are made from.
// Threads: one.
// Errors: none of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "thalweg/base/check.h"
#include "thalweg/kernel/heap_claim.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {

// A kernel of this interface that has another one and the name of its operation.
template <class Interface>
class KernelAround : public Interface {
 public:
  KernelAround(std::string op, std::unique_ptr<Kernel> inner)
      : op_(std::move(op)), inner_(std::move(inner)) {}

 protected:
  const std::string op_;
  const std::unique_ptr<Kernel> inner_;
};

template <class Call>
class WrappedKernels {
 public:
  static void Wrap(const KernelRegistry& originals, KernelRegistry& wrapped) {
    originals_ = &originals;
    for (const KernelEntry* original : originals.Entries()) {
      KernelEntry entry = *original;
      entry.factory = Make;
      CHECK(wrapped.AddUserKernel(std::move(entry)).ok());
    }
  }

 private:
  class Plain final : public KernelAround<Kernel> {
   public:
    using KernelAround::KernelAround;
    Status Compute(Context& ctx) override {
      const Call call(op_, ctx);
      return inner_->Compute(ctx);
    }
  };

  class Async final : public KernelAround<AsyncKernel> {
   public:
    using KernelAround::KernelAround;
    void ComputeAsync(Context& ctx, Done done) override {
      const Call call(op_, ctx);
      inner_->AsAsync()->ComputeAsync(ctx, std::move(done));
    }
  };

  class Waiting final : public KernelAround<WaitingKernel> {
   public:
    using KernelAround::KernelAround;
    std::optional<Status> TryCompute(Context& ctx) override {
      const Call call(op_, ctx);
      return waiting().TryCompute(ctx);
    }
    void Wait(Context& ctx, Done done) override {
      const Call call(op_, ctx);
      waiting().Wait(ctx, std::move(done));
    }
    std::string WaitsFor(Context& ctx) const override { return waiting().WaitsFor(ctx); }

   private:
    WaitingKernel& waiting() const { return dynamic_cast<WaitingKernel&>(*inner_); }
  };

  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const KernelEntry* const entry, originals_->Find(c.node(), kCpu));
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, entry->factory(c));
    const std::string& op = c.node().op_name();
    kernel = WithHeapClaim(std::move(kernel), op);
    if (dynamic_cast<WaitingKernel*>(kernel.get()) != nullptr) {
      return std::unique_ptr<Kernel>(std::make_unique<Waiting>(op, std::move(kernel)));
    }
    if (kernel->AsAsync() != nullptr) {
      return std::unique_ptr<Kernel>(std::make_unique<Async>(op, std::move(kernel)));
    }
    return std::unique_ptr<Kernel>(std::make_unique<Plain>(op, std::move(kernel)));
  }

  static inline const KernelRegistry* originals_ = nullptr;
};

}  // namespace thalweg
