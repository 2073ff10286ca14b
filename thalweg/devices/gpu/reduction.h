// SPDX-License-Identifier: Apache-2.0
// GpuReduction: sums and extremes over any dimensions, for kernels of the device.
//
//   ASSIGN_OR_RETURN(const GpuReduction sum, GpuReduction::Make(device, ReduceTo::kSum));
//   RETURN_IF_ERROR(sum.Run(device, x, Dims{0}, *out));
//
// Where many elements become few, they are reduced in parts first. Bits depend on shapes alone.
// Ownership: a value; the kernels are the device's.
// Threads: any.
// Errors: those of GpuPrograms::Find and GpuQueue::Run; ResourceExhausted for the parts'
// memory; Unimplemented for dimensions that alternate more than 16 times.
#pragma once

#include "thalweg/devices/gpu/gpu_device.h"

namespace thalweg {

// kAll and kAny of bool, the others of float.
enum class ReduceTo : uint8_t { kSum, kMean, kMax, kMin, kProd, kAll, kAny };

class GpuReduction {
 public:
  static Result<GpuReduction> Make(GpuDevice& device, ReduceTo what);

  // `axes`: each once, from the front. `out` has an element for each place of the others.
  Status Run(GpuDevice& device, const Tensor& x, const Dims& axes, const Tensor& out) const;

 private:
  GpuFunction each_ = nullptr;   // a work item for an element of the output
  GpuFunction group_ = nullptr;  // a group for one
  bool mean_ = false;
};

}  // namespace thalweg
