// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/device.h"

#include "thalweg/tensor/allocated_block.h"

namespace thalweg {

Result<Tensor> Device::Allocate(DType dtype, const Shape& shape) {
  return host_addressable_ ? Tensor::Allocate(allocator(), dtype, shape)
                           : AllocateBlock(allocator(), dtype, shape);
}

}  // namespace thalweg
