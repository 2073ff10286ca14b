// SPDX-License-Identifier: Apache-2.0
// GpuMove: copies elements between two tensors of the device, each walked with strides of its
// own: what transposes, slices, tiles, joins and splits.
//
//   MovePlan plan;                                          // out[j, i] = in[i, j]
//   plan.dims = {{columns, 1, rows}, {rows, columns, 1}};   // size, stride in, stride out
//   RETURN_IF_ERROR(move.Run(queue, plan, in, out));
//
// Ownership: a value; the kernel is the device's.
// Threads: any.
// Errors: Unimplemented for elements that are not 1, 2, 4 or 8 bytes, for more than eight
// dimensions that do not merge, and for 2^31 elements; those of GpuPrograms and GpuQueue.
#pragma once

#include <vector>

#include "thalweg/devices/gpu/gpu_device.h"

namespace thalweg {

struct MoveDim {
  int64_t size = 1, in = 0, out = 0;
};

struct MovePlan {
  int64_t in_start = 0, out_start = 0;
  std::vector<MoveDim> dims;  // the last is the fastest
};

// How far apart elements of a dimension are.
Dims DenseStrides(const Dims& dims);

class GpuMove {
 public:
  static Result<GpuMove> Make(GpuDevice& device, DType dtype);
  Status Run(GpuQueue& queue, const MovePlan& plan, const Tensor& in, const Tensor& out) const;
  // Every element zero.
  Status Clear(GpuQueue& queue, const Tensor& out) const;

 private:
  GpuFunction move_ = nullptr;
  GpuFunction clear_ = nullptr;
};

}  // namespace thalweg
