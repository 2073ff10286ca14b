// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/context.h"

#include "thalweg/kernel/device.h"
#include "thalweg/tensor/allocated_block.h"
#include "thalweg/tensor/construction.h"

namespace thalweg {
namespace {

Result<Tensor> AllocateIn(const StepContext& step, DType dtype, const Shape& shape) {
  if (!step.host_addressable) [[unlikely]]
    return AllocateBlock(*step.allocator, dtype, shape);
  const InterruptibleConstruction until(step.cancellation);
  return Tensor::Allocate(*step.allocator, dtype, shape);
}

}  // namespace

Tensor Context::TakeInput(int i) {
  const Operand operand = operands_[i];
  Tensor* value = At(operand);
  if (!operand.last() || operand.shared() || !value->IsSoleOwner()) return Tensor();
  return std::move(*value);
}

Result<Tensor*> Context::AllocateOutput(int i, DType dtype, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor tensor, AllocateIn(*step_, dtype, shape));
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

Result<Tensor*> Context::AllocateHostOutput(int i, DType dtype, const Shape& shape) {
  const InterruptibleConstruction until(step_->cancellation);
  Allocator& host = step_->host_addressable ? allocator() : device().host_allocator();
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(host, dtype, shape));
  Tensor& slot = output(i);
  slot = std::move(tensor);
  return &slot;
}

Result<Tensor> Context::AllocateTemporary(DType dtype, const Shape& shape) {
  return AllocateIn(*step_, dtype, shape);
}

}  // namespace thalweg
