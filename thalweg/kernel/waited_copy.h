// SPDX-License-Identifier: Apache-2.0
// CopyAndWait: a copy between a device and the host that the calling thread waits for, at most
// until its step is cancelled.
//
//   ASSIGN_OR_RETURN(const Tensor here,
//                    CopyAndWait(ctx.device(), &Device::CopyToHost, there, ctx.step()));
//
// Ownership: the tensor is kept until the copy has ended, also where nobody waits any more.
// Threads: any.
// Errors: those of the copy; the reason of the step's cancellation.
#pragma once

#include "thalweg/kernel/step_context.h"

namespace thalweg {

using DeviceCopy = void (Device::*)(const Tensor&, Device::CopyDone);

Result<Tensor> CopyAndWait(Device& device, DeviceCopy copy, const Tensor& tensor,
                           const StepContext& step);

}  // namespace thalweg
