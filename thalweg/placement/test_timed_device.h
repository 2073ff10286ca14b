// SPDX-License-Identifier: Apache-2.0
// TimedDevice: a device with memory of its own whose copies take what a test says, by the clock
// that they move.
//
//   FakeClock clock;
//   TimedDevice gpu("/job:w/replica:0/task:0/device:GPU:0", &clock);
//
// Ownership: the test's.
// Threads: one.
// Errors: none; one that is silent never answers.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/kernel/test_device.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {

class TimedDevice : public NamedDevice {
 public:
  static constexpr std::chrono::microseconds kLatency{7};  // each way
  static constexpr int64_t kBytesPerMicro = 2000;

  TimedDevice(std::string_view name, FakeClock* clock)
      : NamedDevice(name, 1, /*host_addressable=*/false), clock_(clock) {}
  Allocator& host_allocator() override { return *host_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override { Copy(tensor, std::move(done)); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { Copy(tensor, std::move(done)); }

  bool silent = false;
  Status refusal;
  int64_t copied = 0;

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

}  // namespace thalweg
