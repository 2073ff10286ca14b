// SPDX-License-Identifier: Apache-2.0
// NodeError: what a kernel said is wrong, with all that the user needs to find the place:
//   Matrix size-incompatible: In[0]: [32,784], In[1]: [785,10]
//     [[MatMul 'layer1/matmul' on /job:a/.../device:CPU:0; inputs: float32[32,784],
//       float32[785,10]]] (created at train.py:41)
//
// Ownership: the Status is the caller's; the rest is read during the call.
// Threads: any.
// Errors: it makes them: the kernel's code with the node's text, for want of memory the code and
// words of a lost device where it is one; InvalidArgument for a dead fetch or a reference to no
// variable.
#pragma once

#include <span>

#include "thalweg/executor/program.h"

namespace thalweg {

Status NodeError(const Status& given, const ProgramNode& node, const StepContext& context,
                 std::span<const Tensor* const> inputs);
// A node has it already: one of a function's body, or of another task's step, where a Recv ends
// with the error of that step.
bool NamesNode(const Status& error);

// The value of the variable that a reference leads to.
Result<Tensor> ReadReference(const Tensor& value);

// A fetch in a branch that was not taken.
Status DeadFetchError(const Program& program, const Value& fetch);

}  // namespace thalweg
