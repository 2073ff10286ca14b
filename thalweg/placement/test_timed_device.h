// SPDX-License-Identifier: Apache-2.0
// TimedDevice: a device with memory of its own whose copies and kernels take what a test says, by
// the clock that they move.
//
//   FakeClock clock;
//   TimedDevice gpu("/job:w/replica:0/task:0/device:GPU:0", &clock);
//   KernelRegistry kernels;
//   AddTimedKernels(kernels);
//
// Ownership: the test's.
// Threads: one.
// Errors: none; one that is silent never answers.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/test_device.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {

class TimedDevice : public NamedDevice {
 public:
  static constexpr std::chrono::microseconds kLatency{7};  // each way
  static constexpr int64_t kBytesPerMicro = 2000;
  static constexpr std::chrono::nanoseconds kCall{5000};  // of every kernel
  static constexpr int64_t kFlopsPerNano = 4000;
  static constexpr int64_t kMovedPerNano = 100;  // bytes
  static constexpr std::chrono::milliseconds kDisturbance{1};

  TimedDevice(std::string_view name, FakeClock* clock)
      : NamedDevice(name, 1, /*host_addressable=*/false), clock_(clock) {}
  Allocator& host_allocator() override { return *host_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override {
    if (fast_before > 0) {
      --fast_before;
    } else if (slow_copies > 0) {
      --slow_copies;
      clock_->Advance(kDisturbance);
    }
    Copy(tensor, std::move(done));
  }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { Copy(tensor, std::move(done)); }

  // One kernel.
  void Compute(int64_t flops, int64_t bytes) {
    ++computed;
    clock_->Advance(kCall +
                    std::chrono::nanoseconds(flops / kFlopsPerNano + bytes / kMovedPerNano));
  }

  bool silent = false;
  int64_t computed = 0;
  Status refusal;
  int64_t copied = 0;
  // So many copies to the host take a millisecond longer, behind so many others.
  int slow_copies = 0;
  int fast_before = 0;

 private:
  void Copy(const Tensor& tensor, CopyDone done) {
    if (silent) {
      waiting_.push_back(std::move(done));
      clock_->Advance(std::chrono::seconds(1));
      return;
    }
    copied += static_cast<int64_t>(tensor.bytes());
    clock_->Advance(kLatency + std::chrono::nanoseconds(tensor.bytes() * 1000 / kBytesPerMicro));
    if (refusal.ok()) return done(tensor);
    done(refusal);
  }

  FakeClock* const clock_;
  AllocatorPtr host_ = MakeCpuAllocator();
  std::vector<CopyDone> waiting_;
};

class TimedMatMul : public Kernel {
  Status Compute(Context& ctx) override {
    const Shape& a = ctx.input(0).shape();
    RETURN_IF_ERROR(ctx.AllocateOutput(0, DType::kFloat, a).status());
    dynamic_cast<TimedDevice&>(ctx.device()).Compute(2 * a.dim(0) * a.dim(0) * a.dim(0), 0);
    return OkStatus();
  }
};

class TimedNeg : public Kernel {
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(ctx.AllocateOutput(0, DType::kFloat, x.shape()).status());
    dynamic_cast<TimedDevice&>(ctx.device()).Compute(0, static_cast<int64_t>(2 * x.bytes()));
    return OkStatus();
  }
};

inline void AddTimedKernels(KernelRegistry& kernels) {
  kernels.Add<TimedMatMul>("MatMul", "GPU", {{"T", DType::kFloat}});
  kernels.Add<TimedNeg>("Neg", "GPU", {{"T", DType::kFloat}});
}

}  // namespace thalweg
