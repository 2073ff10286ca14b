// SPDX-License-Identifier: Apache-2.0
// GpuDevice: a graphics card, or the processors, as device /device:GPU:0, through CUDA or OpenCL.
//
//   auto& device = static_cast<GpuDevice&>(ctx.device());   // in a kernel of type GPU
//   RETURN_IF_ERROR(device.queue().Copy(x, *y));
//
// Ownership: the environment owns it; it owns queue and programs, and shares the memory with its
// tensors and the host allocator with other devices.
// Threads: every member from any; a copy's `done` runs on a thread of the driver's or inline.
// Errors: copies: Internal for a tensor that is not where the copy takes it from, InvalidArgument
// for strings, resources and variants, ResourceExhausted, Unavailable where the device is gone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/devices/gpu/gpu_programs.h"
#include "thalweg/devices/gpu/gpu_queue.h"
#include "thalweg/kernel/device_factory.h"
#include "thalweg/kernel/hardware.h"
#include "thalweg/kernel/losable.h"
#include "thalweg/kernel/peer_copies.h"
#include "thalweg/resources/group_collectives.h"

namespace thalweg {

class KernelRegistry;

inline constexpr std::string_view kGpu = "GPU";

class GpuDevice : public Device,
                  public Losable,
                  public Hardware,
                  public PeerCopies,
                  public GroupCollectives {
 public:
  GpuDevice(DeviceName name, uint64_t incarnation, std::shared_ptr<GpuDriver> driver,
            std::shared_ptr<GpuMemory> memory, AllocatorPtr host_allocator, BinaryCache binaries,
            const KernelRegistry* kernels);
  Allocator& allocator() override { return *memory_; }
  Allocator& host_allocator() override { return *host_allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override;
  void CopyFromHost(const Tensor& tensor, CopyDone done) override;

  // Also where queued work has failed otherwise: what it was to make is not there.
  Status lost() const override;
  // "device: 0, name: NVIDIA H200, compute capability: 9.0"
  std::string hardware() const override;

  // Those made with it whose driver reaches their memory.
  bool Reaches(const Device& other) const override;
  Result<Tensor> CopyFromPeer(const Tensor& tensor) override;
  // What its driver's library computes, with those that it reaches.
  bool Takes(const CollectiveCall& call) const override;
  bool JoinsWith(const Device& other) const override { return Reaches(other); }
  Result<std::vector<Tensor>> ComputeTogether(Context& ctx,
                                              std::span<const CollectiveCall> calls) override;
  // Whether it takes any call.
  bool has_collectives() const { return Takes({.dtype = DType::kFloat}); }
  // Before the first is used: those made with it, and itself.
  void Meet(const std::vector<std::unique_ptr<Device>>& made);

  GpuQueue& queue() { return queue_; }
  GpuPrograms& programs() { return programs_; }
  const GpuTraits& traits() const { return driver_->traits(); }
  // Whether products and convolutions go by panels (panels.h), or by what suits cards.
  bool computes_by_panels() const { return traits().IsProcessor(); }
  // Whether the driver has a library for products (GpuQueue::Multiply).
  bool has_products() { return driver_->has_products(); }
  // Whether it has one for convolutions (GpuQueue::Convolve).
  bool has_convolutions() { return driver_->has_convolutions(); }
  // Where kernels of the CPU are found that the device takes over; null for a device without.
  const KernelRegistry* kernels() const { return kernels_; }
  // Whether the tensor's bytes are in this device's memory.
  bool Has(const Tensor& tensor) const override {
    return tensor.kind() == Tensor::Kind::kBuffer && memory_->Contains(tensor.raw_data());
  }
  // Held while a variable's value is replaced by one that is made of it, so that no update is lost.
  Mutex& updates() { return updates_; }

 private:
  const std::shared_ptr<GpuDriver> driver_;
  const std::shared_ptr<GpuMemory> memory_;
  const AllocatorPtr host_allocator_;
  const KernelRegistry* const kernels_;
  std::vector<GpuDevice*> peers_;
  Mutex updates_;
  GpuPrograms programs_;
  GpuQueue queue_;  // declared last: its end waits for what uses the others
};

}  // namespace thalweg
