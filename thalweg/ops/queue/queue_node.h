// SPDX-License-Identifier: Apache-2.0
// What the kernels of this family share: finding the resource that an input names, by reference or
// by handle; making it as the attributes of a node name it.
// Ownership: ResourceOf holds a reference; BorrowedResource lives as long as input 0.
// Threads: any.
// Errors: InvalidArgument for a resource of another kind or a timeout of the node's own; NotFound
// for one that is not there.
#pragma once

#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/waiting_kernel.h"
#include "thalweg/resources/handle_kernel.h"

namespace thalweg {

// The resource of an input: of a reference edge or of a resource handle.
template <class T>
Result<RefPtr<T>> ResourceOf(const Context& ctx, int input = 0) {
  const Tensor& handle = ctx.input(input);
  if (!handle.is_reference()) return ctx.Resource<T>(input);
  T* found = dynamic_cast<T*>(handle.resource());
  if (found == nullptr) {
    return InvalidArgument("input ", input, " refers to ", handle.resource()->DebugString(),
                           ", which is of another kind than this operation is for");
  }
  return RefPtr<T>::Share(found);
}

// The same without a share of its own, as long as input 0 lives, where the handle holds the
// resource itself and it is a T, no more and no less: null where ResourceOf must look closer.
template <class T>
T* BorrowedResource(const Context& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.is_reference() || handle.dtype() != DType::kResource || handle.num_elements() != 1) {
    return nullptr;
  }
  Resource* const found = handle.scalar<ResourceHandle>().resource();
  return found != nullptr && typeid(*found) == typeid(T) ? static_cast<T*>(found) : nullptr;
}

// Unless the node has no timeout of its own.
inline Status CheckTimeout(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const int64_t timeout, c.Attr<int64_t>("timeout_ms"));
  if (timeout == -1) return OkStatus();
  return InvalidArgument("Timeout not supported yet: timeout_ms must be -1, got ", timeout,
                         "; RunOptions.timeout_in_ms ends a step that waits");
}

}  // namespace thalweg
