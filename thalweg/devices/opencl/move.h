// SPDX-License-Identifier: Apache-2.0
// OpenClMove: copies elements between two tensors of the device, each walked with strides of its
// own: what transposes, slices, tiles, joins and splits.
//
//   MovePlan plan;                                          // out[j, i] = in[i, j]
//   plan.dims = {{columns, 1, rows}, {rows, columns, 1}};   // size, stride in, stride out
//   RETURN_IF_ERROR(move.Run(queue, plan, in, out));
//
// Ownership: a value; the kernel is the device's.
// Threads: any.
// Errors: Unimplemented for elements that are not 1, 2, 4 or 8 bytes, for more than eight
// dimensions that do not merge, and for 2^31 elements; those of OpenClPrograms and OpenClQueue.
#pragma once

#include <vector>

#include "thalweg/devices/opencl/opencl_device.h"

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

class OpenClMove {
 public:
  static Result<OpenClMove> Make(OpenClDevice& device, DType dtype);
  Status Run(OpenClQueue& queue, const MovePlan& plan, const Tensor& in, const Tensor& out) const;
  // Every element zero.
  Status Clear(OpenClQueue& queue, const Tensor& out) const;

 private:
  cl::KernelId move_ = nullptr;
  cl::KernelId clear_ = nullptr;
};

}  // namespace thalweg
