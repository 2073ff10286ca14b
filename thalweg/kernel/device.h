// SPDX-License-Identifier: Apache-2.0
// Device: where kernels run and tensors live. Owns its memory; kernels are made for it by
// KernelRegistry::Make.
//
// A device whose memory the host cannot address has one in-order queue of work. A kernel's Compute
// puts its work there and returns: its outputs are tensors at once, whose bytes are valid for
// whatever stands behind in the queue. So a block that goes back to the allocator may be given out
// again at once, and only CopyToHost says when bytes are there. What goes wrong in queued work is
// the error of the copies behind it.
// Ownership: an environment owns its devices; steps, kernels and tensors of it end first (tensors
// keep the allocator).
// Threads: every member from any thread.
// Errors: CopyToHost and CopyFromHost give theirs to `done`; Allocate: ResourceExhausted; the
// allocators give null.
#pragma once

#include <functional>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/kernel/device_name.h"
#include "thalweg/tensor/allocator.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class Device {
 public:
  Device(DeviceName name, uint64_t incarnation, bool host_addressable = true)
      : name_(std::move(name)),
        full_name_(name_.ToString()),
        incarnation_(incarnation),
        host_addressable_(host_addressable) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceName& name() const { return name_; }
  const std::string& full_name() const { return full_name_; }
  const std::string& type() const { return *name_.type; }
  // Differs after a restart, so that a message to a former life of the task is recognized.
  uint64_t incarnation() const { return incarnation_; }
  // Whether the host reads and writes this device's memory. Where it does not, steps copy what
  // crosses between the two (passes/place_copies.h).
  bool host_addressable() const { return host_addressable_; }

  // For outputs and temporaries of kernels on this device; its limit is the device's memory.
  virtual Allocator& allocator() = 0;
  // For tensors in host memory that this device reads quickly.
  virtual Allocator& host_allocator() = 0;
  // A tensor in this device's memory. Where the host cannot address that, small ones and scalars
  // are blocks of allocator(), too: never a part of the handle.
  Result<Tensor> Allocate(DType dtype, const Shape& shape);
  // Copies between this device and the host, in the order of its queue, of plain types. `done` is
  // called once, inline or on another thread; no thread waits. CopyToHost's when the bytes are
  // there. CopyFromHost's tensor is valid for what is queued later; the host's tensor may change
  // from then on.
  using CopyDone = std::function<void(Result<Tensor>)>;
  virtual void CopyToHost(const Tensor& tensor, CopyDone done) = 0;
  virtual void CopyFromHost(const Tensor& tensor, CopyDone done) = 0;

 private:
  const DeviceName name_;
  const std::string full_name_;
  const uint64_t incarnation_;
  const bool host_addressable_;
};

}  // namespace thalweg
