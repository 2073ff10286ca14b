// SPDX-License-Identifier: Apache-2.0
// Bytes of tensors that no allocator counts: small blocks, memory of the host or from outside.
//
//   RETURN_IF_ERROR(charge.Set(allocator, UncountedBytes(tensor)));
//   if (HasHostBlock(tensor)) RETURN_IF_ERROR(ChargeHostBlock(allocator, tensor));
//
// Ownership: a tensor's bytes carry what they are charged with, and give it back when they go; the
// allocator stays for them.
// Threads: any.
// Errors: ResourceExhausted with the bytes asked for and the limit; then nothing is charged.
#pragma once

#include "thalweg/tensor/tensor.h"

namespace thalweg {

// What this handle alone keeps in memory: nothing of what others hold, too, nor what strings hold
// (text_heap.h).
size_t UncountedBytes(const Tensor& tensor);

// Elements in a block of malloc (Tensor::AllocateHost, Tensor::Of), seen from their own handle, not
// from a view.
inline bool HasHostBlock(const TensorRep& rep) {
  return rep.block_bytes != 0 && rep.allocator == nullptr;
}
inline bool HasHostBlock(const Tensor& tensor) {
  return tensor.kind() == Tensor::Kind::kBuffer &&
         HasHostBlock(*static_cast<TensorRep*>(reinterpret_cast<Counted*>(tensor.payload_word())));
}
// Counts that block, once, against the allocator's limit, with what its strings hold. Not for
// tensors without one.
Status ChargeHostBlock(Allocator& allocator, const Tensor& tensor);

}  // namespace thalweg
