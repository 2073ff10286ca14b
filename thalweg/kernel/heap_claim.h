// SPDX-License-Identifier: Apache-2.0
// HeapClaim: what a kernel takes from the heap beside its tensors, counted against the limit of the
// step's allocator for as long as a call lasts.
//
//   kernel = WithHeapClaim(std::move(kernel), "MatrixInverse");
//
// For containers and matrices of a library in proportion to what comes in. Memory that an attribute
// or a value asks for is charged where it is taken (tensor/heap_charge.h), arrays of numbers come
// from the step's scratch. What is less than 32 KiB is not counted: small calls pay nothing.
// Ownership: the claim holds the kernel.
// Threads: as the kernel.
// Errors: ResourceExhausted with the bytes asked for and the limit, before the kernel is called.
#pragma once

#include <memory>
#include <string_view>

#include "thalweg/kernel/kernel.h"

namespace thalweg {

// `kernel` with what the table of heap_claim.cc says of its operation. One that is asynchronous, or
// not in the table, is left as it is.
std::unique_ptr<Kernel> WithHeapClaim(std::unique_ptr<Kernel> kernel, std::string_view op);

}  // namespace thalweg
