// SPDX-License-Identifier: Apache-2.0
// What strings hold outside of their tensor's block, counted against an allocator's limit.
//
//   RETURN_IF_ERROR(ClaimTextHeap(allocator, tensor, bytes));  // before strings are made in it
//   RETURN_IF_ERROR(ChargeTextHeap(allocator, tensor));        // after: what they hold, once
//
// A claim counts until the charge takes its place, or the tensor goes. Both do nothing for tensors
// of other types, for strings from outside (Tensor::FromBuffer), and where the allocator counts
// blocks only.
// Ownership: the tensor's bytes carry what they are charged with, and give it back when they go;
// the allocator stays for them.
// Threads: ClaimTextHeap by who fills the tensor; ChargeTextHeap from any thread.
// Errors: ResourceExhausted with the bytes asked for and the limit; the tensor then is charged with
// nothing more than before.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// What a string of so many bytes holds. Short ones lie in the std::string itself.
inline size_t TextHeapBytes(size_t length) { return length > 15 ? length + 1 : 0; }
inline size_t TextHeapBytes(std::span<const std::string> texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += TextHeapBytes(text.size());
  return bytes;
}

Status ClaimTextHeap(Allocator& allocator, Tensor& tensor, size_t bytes);
Status ChargeTextHeap(Allocator& allocator, const Tensor& tensor);
// After strings were replaced in place: counts them again.
Status RechargeTextHeap(Allocator& allocator, Tensor& tensor);

}  // namespace thalweg
