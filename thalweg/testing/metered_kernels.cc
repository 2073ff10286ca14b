// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/metered_kernels.h"

#include <algorithm>
#include <vector>

#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/uncounted_bytes.h"
#include "thalweg/testing/heap_meter.h"
#include "thalweg/testing/wrapped_kernels.h"

namespace thalweg {
namespace {

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

}  // namespace

void MeteredKernels::Wrap(const KernelRegistry& originals, KernelRegistry& metered) {
  WrappedKernels<Metering>::Wrap(originals, metered);
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
