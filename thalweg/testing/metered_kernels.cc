// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/metered_kernels.h"

#include <algorithm>
#include <vector>

#include "thalweg/base/check.h"
#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/kernel/heap_claim.h"
#include "thalweg/kernel/waiting_kernel.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/uncounted_bytes.h"
#include "thalweg/testing/heap_meter.h"

namespace thalweg {
namespace {

const KernelRegistry* originals = nullptr;
std::map<std::string, HeapExcess> excess;

class MeteredAllocator final : public ChargedAllocator {
 public:
  explicit MeteredAllocator(AllocatorPtr inner)
      : inner_(std::move(inner)), charged_(dynamic_cast<ChargedAllocator&>(*inner_)) {}
  void* Allocate(size_t bytes) override {
    const UnmeteredHeap its_own;
    return inner_->Allocate(bytes);
  }
  void Deallocate(void* block, size_t bytes) override {
    const UnmeteredHeap its_own;
    inner_->Deallocate(block, bytes);
  }
  bool Charge(size_t bytes) override {
    const bool fits = charged_.Charge(bytes);
    if (fits) HeapMeter::Charge(static_cast<int64_t>(bytes));
    return fits;
  }
  void Discharge(size_t bytes) override {
    charged_.Discharge(bytes);
    HeapMeter::Charge(-static_cast<int64_t>(bytes));
  }
  AllocatorStats Stats() const override { return inner_->Stats(); }
  void Trim() override { inner_->Trim(); }

 private:
  const AllocatorPtr inner_;
  ChargedAllocator& charged_;
};

int64_t TextOf(const Tensor& value) {
  if (value.kind() != Tensor::Kind::kBuffer || value.dtype() != DType::kString) return 0;
  return static_cast<int64_t>(TextHeapBytes(value.flat<std::string>()));
}

int64_t BlockBytes(const Tensor& value) {
  return value.kind() == Tensor::Kind::kBuffer ? static_cast<int64_t>(value.bytes()) : 0;
}

// One call.
class Metering {
 public:
  Metering(const std::string& op, Context& ctx)
      : op_(op), ctx_(ctx), outer_peak_(HeapMeter::Peak()), before_(HeapMeter::Uncharged()) {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      input_text_ += TextOf(ctx.input(i));
      input_bytes_ += BlockBytes(ctx.input(i));
    }
    HeapMeter::ForgetPeak();
  }
  Metering(const Metering&) = delete;
  Metering& operator=(const Metering&) = delete;
  ~Metering() {
    const UnmeteredHeap its_own;
    const int64_t peak = HeapMeter::Peak();
    const int64_t left = HeapMeter::Uncharged() - before_;
    int64_t output_text = 0, output_blocks = 0;
    for (int i = 0; i < ctx_.num_outputs(); ++i) {
      output_text += TextOf(ctx_.output(i));
      if (HasHostBlock(ctx_.output(i))) output_blocks += BlockBytes(ctx_.output(i));
    }
    const int64_t expected = input_text_ + std::min(output_blocks, input_bytes_);
    HeapExcess& most = excess[op_];
    const int64_t bytes = std::max(peak - before_ - std::clamp<int64_t>(left, 0, expected),
                                   left - output_text - output_blocks);
    if (bytes > most.bytes) most = {bytes, input_bytes_ + input_text_};
    HeapMeter::RaisePeak(outer_peak_);
  }

 private:
  const std::string& op_;
  Context& ctx_;
  const int64_t outer_peak_, before_;
  int64_t input_text_ = 0, input_bytes_ = 0;
};

class MeteredKernel final : public Kernel {
 public:
  MeteredKernel(std::string op, std::unique_ptr<Kernel> inner)
      : op_(std::move(op)), inner_(std::move(inner)) {}
  Status Compute(Context& ctx) override {
    const Metering call(op_, ctx);
    return inner_->Compute(ctx);
  }

 private:
  const std::string op_;
  const std::unique_ptr<Kernel> inner_;
};

// Counts what is taken until the call returns, not what comes while it waits.
class MeteredAsyncKernel final : public AsyncKernel {
 public:
  MeteredAsyncKernel(std::string op, std::unique_ptr<Kernel> inner)
      : op_(std::move(op)), inner_(std::move(inner)) {}
  void ComputeAsync(Context& ctx, Done done) override {
    const Metering call(op_, ctx);
    inner_->AsAsync()->ComputeAsync(ctx, std::move(done));
  }

 private:
  const std::string op_;
  const std::unique_ptr<Kernel> inner_;
};

class MeteredWaitingKernel final : public WaitingKernel {
 public:
  MeteredWaitingKernel(std::string op, std::unique_ptr<Kernel> inner)
      : op_(std::move(op)), inner_(std::move(inner)) {}
  std::optional<Status> TryCompute(Context& ctx) override {
    const Metering call(op_, ctx);
    return waiting().TryCompute(ctx);
  }
  void Wait(Context& ctx, Done done) override {
    const Metering call(op_, ctx);
    waiting().Wait(ctx, std::move(done));
  }
  std::string WaitsFor(Context& ctx) const override { return waiting().WaitsFor(ctx); }

 private:
  WaitingKernel& waiting() const { return dynamic_cast<WaitingKernel&>(*inner_); }
  const std::string op_;
  const std::unique_ptr<Kernel> inner_;
};

Result<std::unique_ptr<Kernel>> MakeMetered(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const KernelEntry* const entry, originals->Find(c.node(), kCpu));
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, entry->factory(c));
  const std::string& op = c.node().op_name();
  kernel = WithHeapClaim(std::move(kernel), op);
  if (dynamic_cast<WaitingKernel*>(kernel.get()) != nullptr) {
    return std::unique_ptr<Kernel>(std::make_unique<MeteredWaitingKernel>(op, std::move(kernel)));
  }
  if (kernel->AsAsync() != nullptr) {
    return std::unique_ptr<Kernel>(std::make_unique<MeteredAsyncKernel>(op, std::move(kernel)));
  }
  return std::unique_ptr<Kernel>(std::make_unique<MeteredKernel>(op, std::move(kernel)));
}

}  // namespace

void MeteredKernels::Wrap(const KernelRegistry& all, KernelRegistry& metered) {
  originals = &all;
  for (const KernelEntry* original : all.Entries()) {
    KernelEntry entry = *original;
    entry.factory = MakeMetered;
    const Status added = metered.AddUserKernel(std::move(entry));
    CHECK(added.ok() || added.code() == Code::kAlreadyExists);  // some are registered twice
  }
}

const std::map<std::string, HeapExcess>& MeteredKernels::Excess() { return excess; }
void MeteredKernels::Forget() { excess.clear(); }

Result<std::vector<std::unique_ptr<Device>>> MakeMeteredDevices(const DeviceRequest& request) {
  // Tensors may outlive all devices.
  static std::vector<AllocatorPtr> kept;
  DeviceRequest metered = request;
  metered.host_allocator = std::make_shared<MeteredAllocator>(request.host_allocator);
  kept.push_back(metered.host_allocator);
  return MakeCpuDevices(metered);
}

}  // namespace thalweg
