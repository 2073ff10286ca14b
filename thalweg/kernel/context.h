// SPDX-License-Identifier: Apache-2.0
// Context: what a kernel sees in one call: its inputs, its outputs, and the services of the step. A
// view on the executor's slots: nothing is copied per node. Valid during the call (an asynchronous
// kernel's until its Done).
//
//   const Tensor& a = ctx.input(0);
//   ASSIGN_OR_RETURN(Tensor* y, ctx.AllocateOutput(0, DType::kFloat, Shape{m, n}));
//   ctx.set_output(1, a);                                   // shares a's buffer
//
// Dead tokens (B3.4a) are empty tensors. Switch leaves the untaken output empty, Recv its output
// after a dead delivery. Merge and Send get dead inputs as empty tensors; no other kernel is called
// with one.
//
// Inputs are what the schema says: a reference edge read by a plain argument arrives as the
// variable's value. Of reference arguments and resource handles, `VariableOf(ctx, i)` of
// resources/variable.h gives the variable.
// Ownership: the executor owns the slots; input(), output() and step() are good during the call, a
// tensor that is set shares its buffer.
// Threads: one thread at a time, except input() and step(), which ParallelFor shards may call.
// Errors: AllocateOutput, AllocateTemporary: ResourceExhausted; Resource: NotFound, InvalidArgument
// for no handle, FailedPrecondition for one that was never set.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/compute/work.h"
#include "thalweg/kernel/step_context.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Where a value of a node lies: base:2 | last use:1 | shared with other units:1 | index:28.
struct Operand {
  uint32_t v = 0;
  static constexpr uint32_t kIndexMask = (1u << 28) - 1;
  static Operand Make(uint32_t base, uint32_t index, bool last = false, bool shared = false) {
    return {(base << 30) | (static_cast<uint32_t>(last) << 29) |
            (static_cast<uint32_t>(shared) << 28) | index};
  }
  uint32_t base() const { return v >> 30; }
  uint32_t index() const { return v & kIndexMask; }
  bool last() const { return (v >> 29) & 1; }
  bool shared() const { return (v >> 28) & 1; }
};

class Context {
 public:
  static constexpr int kNumBases = 4;

  int num_inputs() const { return num_inputs_; }
  int num_outputs() const { return num_outputs_; }
  const Tensor& input(int i) const { return *At(operands_[i]); }
  // The tensor of input i moved out, when this is its last use anywhere and nobody else holds its
  // buffer; an empty tensor otherwise. After a success input(i) must not be read.
  Tensor TakeInput(int i);
  // Element 0 of a resource input resolved to a T; NotFound when it does not exist (any more).
  template <class T>
  Result<RefPtr<T>> Resource(int i) const;

  // A new output tensor in the device's memory. Its elements are uninitialized.
  Result<Tensor*> AllocateOutput(int i, DType dtype, const Shape& shape);
  // As AllocateOutput, but in the buffer of the first of `inputs` that can be taken and fits (same
  // byte size and element size): an element-wise kernel may then overwrite it in place. The pointer
  // of the taken input is the output's.
  Result<Tensor*> TakeOrAllocateOutput(std::initializer_list<int> inputs, int i, DType dtype,
                                       const Shape& shape);
  // As AllocateOutput, for an output that the kernel's registration has in host memory: of a device
  // whose own memory the host cannot address.
  Result<Tensor*> AllocateHostOutput(int i, DType dtype, const Shape& shape);
  // Shares the tensor's buffer.
  void set_output(int i, Tensor tensor) { *At(operands_[num_inputs_ + i]) = std::move(tensor); }
  Tensor& output(int i) { return *At(operands_[num_inputs_ + i]); }
  // A tensor that lives no longer than the call.
  Result<Tensor> AllocateTemporary(DType dtype, const Shape& shape);

  StepContext& step() const { return *step_; }
  Device& device() const { return *step_->device; }
  Allocator& allocator() const { return *step_->allocator; }
  // Threads, scratch memory and instruction set for compute/.
  compute::Work& work() const { return *step_->work; }
  // Frame and iteration of this call: 0 in the root frame. Part of Send's and Recv's key.
  uint64_t tag() const { return tag_; }

  // For executors: where operands lie. `operands` holds the inputs, then the outputs.
  void Bind(StepContext* step, uint64_t tag) {
    step_ = step;
    tag_ = tag;
  }
  void SetBase(int base, Tensor* values) { bases_[base] = values; }
  void SetOperands(const Operand* operands, int num_inputs, int num_outputs) {
    operands_ = operands;
    num_inputs_ = num_inputs;
    num_outputs_ = num_outputs;
  }

 private:
  Tensor* At(Operand operand) const { return bases_[operand.base()] + operand.index(); }

  Tensor* bases_[kNumBases] = {};
  const Operand* operands_ = nullptr;
  int num_inputs_ = 0;
  int num_outputs_ = 0;
  StepContext* step_ = nullptr;
  uint64_t tag_ = 0;
};

template <class T>
Result<RefPtr<T>> Context::Resource(int i) const {
  const Tensor& handle_tensor = input(i);
  if (handle_tensor.dtype() != DType::kResource || handle_tensor.num_elements() < 1) {
    return InvalidArgument("input ", i, " must be a resource handle, got ", handle_tensor.dtype(),
                           handle_tensor.shape());
  }
  const ResourceHandle& handle = handle_tensor.scalar<ResourceHandle>();
  if (T* found = dynamic_cast<T*>(handle.resource()); found != nullptr)
    return RefPtr<T>::Share(found);
  if (handle.place() == nullptr)
    return FailedPrecondition("input ", i, " is an uninitialized resource handle");
  return step_->resources->Lookup<T>(handle.place()->container, handle.place()->name);
}

}  // namespace thalweg
