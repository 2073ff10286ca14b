// SPDX-License-Identifier: Apache-2.0
// What an exception out of a kernel means: kernels return a Status, but the containers that they
// work with beside their tensors throw where the system has no memory for them.
//   try {
//     status = kernel->Compute(ctx);
//   } catch (...) {
//     status = CaughtException();
//   }
//
// Ownership: the Status is the caller's.
// Threads: the one that caught the exception.
// Errors: it makes them: ResourceExhausted for memory, Internal with its words for all else.
#pragma once

#include "thalweg/base/status.h"

namespace thalweg {

// Only in a catch block. ResourceExhausted for memory, Internal with its words for all else.
Status CaughtException();

}  // namespace thalweg
