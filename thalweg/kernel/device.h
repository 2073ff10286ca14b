// SPDX-License-Identifier: Apache-2.0
// Device: where kernels run and tensors live. Owns its memory; kernels are made for it by
// KernelRegistry::Make.
// Ownership: an environment owns its devices; steps, kernels and tensors of it end first (tensors
// keep the allocator).
// Threads: every member from any thread.
// Errors: CopyToHost and CopyFromHost give theirs to `done`; the allocators give null.
#pragma once

#include <functional>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/kernel/device_name.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class Device {
 public:
  Device(DeviceName name, uint64_t incarnation)
      : name_(std::move(name)), full_name_(name_.ToString()), incarnation_(incarnation) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceName& name() const { return name_; }
  const std::string& full_name() const { return full_name_; }
  const std::string& type() const { return *name_.type; }
  // Differs after a restart, so that a message to a former life of the task is recognized.
  uint64_t incarnation() const { return incarnation_; }

  // For outputs and temporaries of kernels on this device.
  virtual Allocator& allocator() = 0;
  // For tensors in host memory that this device reads quickly.
  virtual Allocator& host_allocator() = 0;
  // Copies between this device and the host; `done` may run inline or on another thread, once.
  using CopyDone = std::function<void(Result<Tensor>)>;
  virtual void CopyToHost(const Tensor& tensor, CopyDone done) = 0;
  virtual void CopyFromHost(const Tensor& tensor, CopyDone done) = 0;

 private:
  const DeviceName name_;
  const std::string full_name_;
  const uint64_t incarnation_;
};

}  // namespace thalweg
