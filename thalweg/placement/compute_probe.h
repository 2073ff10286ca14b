// SPDX-License-Identifier: Apache-2.0
// MeasureCompute: what a device with memory of its own computes in a second, by its own kernels:
// products (MatMul) and negations (Neg) of float, and what a call of one takes that has nothing to
// do.
//
//   ASSIGN_OR_RETURN(const MeasuredRates::Processor rates,
//                    MeasureCompute(device, kernels, ops, clock));
//
// Sizes grow until a call takes a quarter of a millisecond, or there is no memory or no time for
// more. What is waited for is the device's queue. Kernels are made and called once before, which
// may compile them and load libraries.
// Ownership: borrows during the call; of a silent device see AwaitedCopies.
// Threads: any.
// Errors: NotFound or Unimplemented for a device without those kernels; theirs; DeadlineExceeded
// for a device that is silent for 100 ms, or for 2 s after a kernel's first call.
#pragma once

#include <memory>

#include "thalweg/base/clock.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/placement/measured_rates.h"

namespace thalweg {

Result<MeasuredRates::Processor> MeasureCompute(Device& device, const KernelRegistry& kernels,
                                                std::shared_ptr<const OpRegistry> ops,
                                                Clock& clock);

}  // namespace thalweg
