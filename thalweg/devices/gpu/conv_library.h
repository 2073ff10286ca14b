// SPDX-License-Identifier: Apache-2.0
// ConvLibrary: convolutions by the driver's library, where it has one (cuDNN), with what that wants
// around them: filters that lie by channel of the output, as much padding on either side, and a
// workspace.
//
//   ASSIGN_OR_RETURN(const std::optional<ConvLibrary> library, ConvLibrary::Find(device));
//   const GpuConvolutionTensors tensors = {.image = x, .filter = f, .output = y};
//   ASSIGN_OR_RETURN(const bool done, library->Run(device, GpuConvolved::kOutput, s, tensors));
//
// Workspaces are of the device's memory: up to an eighth of what tensors may take there, and up to
// 1 GB.
// Ownership: a value; the kernel is the device's.
// Threads: any.
// Errors: Run is false for what the library has no code or no memory for: kernels compute that. Its
// other errors are those of GpuQueue; Find: those of GpuPrograms.
#pragma once

#include <optional>

#include "thalweg/devices/gpu/image_windows.h"
#include "thalweg/devices/gpu/move.h"

namespace thalweg {

class ConvLibrary {
 public:
  // Nothing where the driver has none.
  static Result<std::optional<ConvLibrary>> Find(GpuDevice& device);

  // `tensors` as nodes have them, of float, without a workspace.
  Result<bool> Run(GpuDevice& device, GpuConvolved makes, const ImageWindows& windows,
                   const GpuConvolutionTensors& tensors) const;

 private:
  explicit ConvLibrary(GpuMove move) : move_(move) {}
  Status Try(GpuDevice& device, GpuConvolved makes, const ImageWindows& windows,
             const GpuConvolutionTensors& tensors) const;
  Status Move(GpuDevice& device, const MovePlan& plan, const Tensor& in, const Tensor& out) const {
    return move_.Run(device.queue(), plan, in, out);
  }

  GpuMove move_;
};

}  // namespace thalweg
