// SPDX-License-Identifier: Apache-2.0
// ArrayOf: the TensorArray that input 0 of a kernel names, in each of the three forms a handle has
// had: a reference to two strings (version 1), two strings (2), a resource (3).
// Ownership: the result holds a reference to the array.
// Threads: any.
// Errors: InvalidArgument for a handle of another form and an array of another type; NotFound for
// one that is not there.
#pragma once

#include <string>

#include "thalweg/kernel/context.h"
#include "thalweg/resources/tensor_array.h"
#include "thalweg/resources/variable.h"
#include "thalweg/tensor/dtype_words.h"

namespace thalweg {

// Arrays of version 1 and 2 are found by name among the resources of the step.
inline constexpr const char* kArrayContainer = "_tensor_arrays";

inline Result<RefPtr<TensorArray>> ArrayOf(Context& ctx) {
  Tensor handle = ctx.input(0);
  if (handle.dtype() == DType::kResource) return ctx.Resource<TensorArray>(0);
  if (handle.is_reference()) {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    ASSIGN_OR_RETURN(handle, variable->Read());
  }
  if (handle.dtype() != DType::kString || handle.num_elements() != 2) {
    return InvalidArgument("Tensor array handle must be 2-element vector of strings, but had ",
                           handle.dtype(), handle.shape());
  }
  const auto parts = handle.flat<std::string>();
  return ctx.step().step_resources->Lookup<TensorArray>(parts[0], parts[1]);
}

// ArrayOf, whose elements must have the type that the kernel's attribute says.
inline Result<RefPtr<TensorArray>> ArrayOf(Context& ctx, DType dtype, const char* does) {
  ASSIGN_OR_RETURN(RefPtr<TensorArray> array, ArrayOf(ctx));
  if (array->dtype() == dtype) return array;
  return InvalidArgument("TensorArray dtype is ", DTypeWord(array->dtype()), " but Op ", does,
                         " dtype ", DTypeWord(dtype), ".");
}

}  // namespace thalweg
