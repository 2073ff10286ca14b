// SPDX-License-Identifier: Apache-2.0
// FakeDevice: a device of type FAKE, for tests: memory that the host cannot address, and kernels
// that are the CPU's, called on that memory from inside. A step that forgets a copy ends by a
// signal at the first byte it touches; one that copies what is there already ends with an error.
//
//   options.device_count = {{"FAKE", 1}};    // none where nobody asks
//   registries.devices = {MakeCpuDevices, MakeFakeDevices};
//
// It can be lost on purpose, as hardware is: by Lose(), or while the file is there that the
// variable THALWEG_FAKE_DEVICE_GONE of the process names; as long as it is, no new one can be had.
// Ownership: the environment owns it; it shares the host allocator and owns its memory, which lives
// as long as its last tensor. The kernel registry outlives it.
// Threads: every member from any; `done` runs in the caller.
// Errors: copies: Internal for a tensor that is not where the copy takes it from, InvalidArgument
// for strings, resources and variants, ResourceExhausted; Unavailable for all once it is lost, and
// for a copy from another one that is.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/devices/fake/fake_memory.h"
#include "thalweg/kernel/device_factory.h"
#include "thalweg/kernel/losable.h"
#include "thalweg/kernel/peer_copies.h"
#include "thalweg/resources/group_collectives.h"

namespace thalweg {

class KernelRegistry;

inline constexpr std::string_view kFake = "FAKE";

class FakeDevice : public Device, public Losable, public PeerCopies, public GroupCollectives {
 public:
  FakeDevice(DeviceName name, uint64_t incarnation, std::shared_ptr<FakeMemory> memory,
             AllocatorPtr host_allocator, const KernelRegistry& kernels,
             std::string gone_file = {});
  Allocator& allocator() override { return *memory_; }
  Allocator& host_allocator() override { return *host_allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override;
  void CopyFromHost(const Tensor& tensor, CopyDone done) override;

  // Looks for the file, too.
  Status lost() const override;
  void Lose() { lost_.store(true); }

  // All other fake devices of its environment.
  bool Reaches(const Device& other) const override;
  Result<Tensor> CopyFromPeer(const Tensor& tensor) override;
  // Sums, gathers and broadcasts, with those that it reaches: libraries of accelerators do not
  // compute everything, either.
  bool Takes(const CollectiveCall& call) const override;
  bool JoinsWith(const Device& other) const override { return Reaches(other); }
  Result<std::vector<Tensor>> ComputeTogether(Context& ctx,
                                              std::span<const CollectiveCall> calls) override;
  // Before the first is used: those made with it, and itself.
  void Meet(const std::vector<std::unique_ptr<Device>>& made);

  const FakeMemory& memory() const { return *memory_; }
  // Whether the tensor's bytes are in this device's memory.
  bool Has(const Tensor& tensor) const override {
    return tensor.kind() == Tensor::Kind::kBuffer && memory_->Contains(tensor.raw_data());
  }
  // The same tensor, for the device's own kernels: shares the bytes, which may not be overwritten.
  Tensor Readable(const Tensor& tensor) const;
  // A tensor of this memory with the elements of one that can be read.
  Result<Tensor> Store(const Tensor& tensor);
  // What the CPU's kernels, which run here, take for their device: the same host, its memory.
  Device& inside() const { return *inside_; }
  const KernelRegistry& kernels() const { return kernels_; }

 private:
  const std::shared_ptr<FakeMemory> memory_;
  const AllocatorPtr host_allocator_;
  const KernelRegistry& kernels_;
  const std::unique_ptr<Device> inside_;
  const std::string gone_file_;  // empty: none
  std::vector<const FakeDevice*> peers_;
  mutable std::atomic<bool> lost_{false};
};

// As many as `device_count` says of FAKE. The first that a registry meets brings their kernels.
Result<std::vector<std::unique_ptr<Device>>> MakeFakeDevices(const DeviceRequest& request);

}  // namespace thalweg
