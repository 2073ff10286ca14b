// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/context.h"

#include "thalweg/tensor/construction.h"

namespace thalweg {

Tensor Context::TakeInput(int i) {
  const Operand operand = operands_[i];
  Tensor* value = At(operand);
  if (!operand.last() || operand.shared() || !value->IsSoleOwner()) return Tensor();
  return std::move(*value);
}

Result<Tensor*> Context::AllocateOutput(int i, DType dtype, const Shape& shape) {
  const InterruptibleConstruction until(step_->cancellation);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(allocator(), dtype, shape));
  Tensor& slot = output(i);
  slot = std::move(tensor);
  return &slot;
}

Result<Tensor*> Context::TakeOrAllocateOutput(std::initializer_list<int> inputs, int i, DType dtype,
                                              const Shape& shape) {
  for (int candidate : inputs) {
    const Tensor& value = input(candidate);
    if (DTypeSize(value.dtype()) != DTypeSize(dtype) || !IsPlain(dtype) ||
        value.kind() != Tensor::Kind::kBuffer || value.num_elements() != shape.num_elements() ||
        value.shape() != shape) {
      continue;
    }
    Tensor taken = TakeInput(candidate);
    if (taken.empty()) continue;
    if (taken.dtype() != dtype) {
      ASSIGN_OR_RETURN(taken, taken.Bitcast(dtype));
    }
    Tensor& slot = output(i);
    slot = std::move(taken);
    return &slot;
  }
  return AllocateOutput(i, dtype, shape);
}

Result<Tensor> Context::AllocateTemporary(DType dtype, const Shape& shape) {
  const InterruptibleConstruction until(step_->cancellation);
  return Tensor::Allocate(allocator(), dtype, shape);
}

}  // namespace thalweg
