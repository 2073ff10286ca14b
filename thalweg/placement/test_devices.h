// SPDX-License-Identifier: Apache-2.0
// ListedDevice: a device with a name and nothing else, to put into lists; TimedDevice: one whose
// copies take what a test says, by the clock that they move.
//
//   FakeClock clock;
//   TimedDevice gpu("/job:w/replica:0/task:0/device:GPU:0", &clock);
//
// Ownership: the test's.
// Threads: one.
// Errors: none; a TimedDevice that is silent never answers.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/kernel/device.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {

class ListedDevice : public Device {
 public:
  explicit ListedDevice(std::string_view name, bool host_addressable = true)
      : Device(*DeviceName::Parse(name), 1, host_addressable),
        allocator_(MakeCpuAllocator(1 << 20)) {}
  Allocator& allocator() override { return *allocator_; }
  Allocator& host_allocator() override { return *allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { done(tensor); }

 private:
  AllocatorPtr allocator_;
};

class TimedDevice : public ListedDevice {
 public:
  static constexpr std::chrono::microseconds kLatency{7};  // each way
  static constexpr int64_t kBytesPerMicro = 2000;

  TimedDevice(std::string_view name, FakeClock* clock)
      : ListedDevice(name, /*host_addressable=*/false), clock_(clock) {}
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
