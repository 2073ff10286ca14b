// SPDX-License-Identifier: Apache-2.0
// What kernels of devices of type GPU share: how they are registered, compiled and started.
//
//   KernelAdder adder(registry);
//   adder.Add("MatMul", {{"T", DType::kFloat}}, MatMulGpu::Create);
//   RETURN_IF_ERROR(adder.status());
//
// Ownership: the registry has the entries; a kernel of GpuPrograms lives as long as the device,
// which outlives what was made for it.
// Threads: the adder's one; all else any.
// Errors: the first that the registry gave is status(); Compile: those of GpuPrograms::Find;
// IndexOf: Unimplemented for 2^31 elements and more.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thalweg/devices/gpu/gpu_device.h"
#include "thalweg/devices/gpu/limited_kernel.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

class KernelAdder {
 public:
  using TypeList = std::vector<std::pair<std::string, DType>>;

  explicit KernelAdder(KernelRegistry& registry) : registry_(registry) {}
  // `host`: the arguments that are in host memory.
  void Add(std::string_view op, TypeList types, KernelFactory factory,
           std::vector<std::string> host = {}, SourceLine where = SourceLine::Here()) {
    KernelEntry entry;
    entry.op = op;
    entry.types = std::move(types);
    entry.factory = factory;
    entry.host_memory = std::move(host);
    entry.registered_at = where;
    Add(std::move(entry));
  }
  // Of a kernel that has limits, beyond which the CPU's computes (limited_kernel.h).
  template <KernelFactory F>
  void AddLimited(std::string_view op, TypeList types, std::vector<std::string> host = {},
                  SourceLine where = SourceLine::Here()) {
    Add(op, std::move(types), MakeLimited<F>, std::move(host), where);
  }
  void Add(KernelEntry entry) {
    entry.device_type = kGpu;
    // Compute only puts work into the queue.
    entry.cost = KernelCost::kCheap;
    Status added = registry_.AddUserKernel(std::move(entry));
    if (status_.ok()) status_ = std::move(added);
  }
  const KernelRegistry& registry() const { return registry_; }
  const Status& status() const { return status_; }

 private:
  KernelRegistry& registry_;
  Status status_;
};

// Of kernels and contexts, all of whose devices are GpuDevices.
template <class Source>
GpuDevice& GpuOf(const Source& source) {
  return static_cast<GpuDevice&>(source.device());
}

inline Result<GpuFunction> Compile(const KernelConstruction& c, const std::string& source,
                                   const std::string& name) {
  return GpuOf(c).programs().Find(source, name);
}

// A number of elements, or an offset, as kernels count them.
inline Result<uint32_t> IndexOf(int64_t n) {
  if (n >= 0 && n < (int64_t{1} << 31)) return static_cast<uint32_t>(n);
  return Unimplemented("kernels of devices of type GPU count up to 2^31 elements, this one has ",
                       n);
}

// One work item for each of n.
inline constexpr size_t kLine = 128;
inline Status RunLine(GpuQueue& queue, const GpuLaunch& launch, size_t n) {
  return queue.Run(launch, {n, 1, 1}, {kLine, 1, 1});
}

// A tensor of the host in the device's memory, for what is put into the queue from now on. The
// host's is kept until it has been read, and nobody may write it.
Result<Tensor> Uploaded(GpuDevice& device, const Tensor& tensor);

// "float", "long" ...: how OpenCL calls a type; bool is an uchar. Null for a type without kernels.
const char* GpuTypeName(DType dtype);

}  // namespace thalweg
