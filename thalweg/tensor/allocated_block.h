// SPDX-License-Identifier: Apache-2.0
// AllocateBlock: a tensor whose elements are a block of the allocator, however few they are: what
// lies in memory that only a device addresses. Tensor::Allocate keeps small ones in host memory.
//
//   ASSIGN_OR_RETURN(Tensor t, AllocateBlock(device.allocator(), DType::kFloat, Shape{}));
//
// Ownership: as Tensor::Allocate: the block goes back when the last handle goes.
// Threads: any; no state.
// Errors: ResourceExhausted as Tensor::Allocate; InvalidArgument for elements that are objects.
#pragma once

#include "thalweg/tensor/tensor.h"

namespace thalweg {

// An empty tensor of plain elements has a block of one byte, so that its address says where it is.
Result<Tensor> AllocateBlock(Allocator& allocator, DType dtype, const Shape& shape);

}  // namespace thalweg
