// SPDX-License-Identifier: Apache-2.0
// ElementWise: kernels that are one expression of up to three operands, which broadcast.
//
//   ASSIGN_OR_RETURN(const ElementWise add,
//                    ElementWise::Make(device, {"float", "float"}, "float", "x0 + x1"));
//   RETURN_IF_ERROR(add.Run(device.queue(), broadcast, {&x, &y}, *z));
//
// Operands are x0, x1, x2 in the expression. The source is one text for all; what differs are types
// and expression.
// Ownership: a value; the kernels are the device's.
// Threads: any.
// Errors: those of GpuPrograms::Find and GpuQueue::Run; Unimplemented for more than eight
// dimensions that do not merge, and for 2^31 elements.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "thalweg/compute/ew/broadcast.h"
#include "thalweg/devices/gpu/gpu_device.h"

namespace thalweg {

class ElementWise {
 public:
  static Result<ElementWise> Make(GpuDevice& device, const std::vector<std::string>& operands,
                                  const std::string& result, const std::string& expression);

  // `out` may be an operand that is dense.
  Status Run(GpuQueue& queue, const compute::Broadcast& broadcast,
             std::initializer_list<const Tensor*> operands, const Tensor& out) const;
  // Operands of as many elements as `out`, or of one.
  Status RunFlat(GpuQueue& queue, std::initializer_list<const Tensor*> operands,
                 const Tensor& out) const;

 private:
  GpuFunction flat_ = nullptr;
  GpuFunction walk_ = nullptr;  // null without operands
};

}  // namespace thalweg
