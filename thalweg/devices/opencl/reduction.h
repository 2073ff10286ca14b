// SPDX-License-Identifier: Apache-2.0
// OpenClReduction: sums and extremes over any dimensions, for kernels of the device.
//
//   ASSIGN_OR_RETURN(const OpenClReduction sum, OpenClReduction::Make(device, ReduceTo::kSum));
//   RETURN_IF_ERROR(sum.Run(device, x, Dims{0}, *out));
//
// Where many elements become few, they are reduced in parts first. Bits depend on shapes alone.
// Ownership: a value; the kernels are the device's.
// Threads: any.
// Errors: those of OpenClPrograms::Find and OpenClQueue::Run; ResourceExhausted for the parts'
// memory; Unimplemented for dimensions that alternate more than 16 times.
#pragma once

#include "thalweg/devices/opencl/opencl_device.h"

namespace thalweg {

// kAll and kAny of bool, the others of float.
enum class ReduceTo : uint8_t { kSum, kMean, kMax, kMin, kProd, kAll, kAny };

class OpenClReduction {
 public:
  static Result<OpenClReduction> Make(OpenClDevice& device, ReduceTo what);

  // `axes`: each once, from the front. `out` has an element for each place of the others.
  Status Run(OpenClDevice& device, const Tensor& x, const Dims& axes, const Tensor& out) const;

 private:
  cl::KernelId each_ = nullptr;   // a work item for an element of the output
  cl::KernelId group_ = nullptr;  // a group for one
  bool mean_ = false;
};

}  // namespace thalweg
