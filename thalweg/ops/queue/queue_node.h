// SPDX-License-Identifier: Apache-2.0
// What the kernels of this family share: finding the resource that an input names, by reference or
// by handle; making it as the attributes of a node name it.
#pragma once

#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/waiting_kernel.h"

namespace thalweg {

// The resource of input 0: of a reference edge or of a resource handle.
template <class T>
Result<RefPtr<T>> ResourceOf(const Context& ctx) {
  const Tensor& handle = ctx.input(0);
  if (!handle.is_reference()) return ctx.Resource<T>(0);
  T* found = dynamic_cast<T*>(handle.resource());
  if (found == nullptr) {
    return InvalidArgument("input 0 refers to ", handle.resource()->DebugString(),
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

// Container and name, as the attributes of a node say.
struct ResourceName {
  std::string container;
  std::string name;
  static Result<ResourceName> Of(const KernelConstruction& c) {
    ResourceName n;
    ASSIGN_OR_RETURN(n.container, c.Attr<std::string>("container"));
    ASSIGN_OR_RETURN(n.name, c.Attr<std::string>("shared_name"));
    if (n.name.empty()) n.name = c.node().name();
    return n;
  }
};

// Unless the node has no timeout of its own.
inline Status CheckTimeout(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const int64_t timeout, c.Attr<int64_t>("timeout_ms"));
  if (timeout == -1) return OkStatus();
  return InvalidArgument("Timeout not supported yet: timeout_ms must be -1, got ", timeout,
                         "; RunOptions.timeout_in_ms ends a step that waits");
}

// Gives output 0, a reference or a handle to a resource, which it makes at the first use and again
// after a reset of its container. F: Get(ctx) -> Result<RefPtr<Resource>>.
class HandleKernel : public Kernel {
 public:
  HandleKernel(const KernelConstruction& c, const ResourceName& name, std::string type_name)
      : is_reference_(c.output_type(0) == DType::kString) {
    place_.device = c.device().full_name();
    place_.container =
        name.container.empty() ? std::string(ResourceManager::kDefaultContainer) : name.container;
    place_.name = name.name;
    place_.type_name = std::move(type_name);
  }

  Status Compute(Context& ctx) final {
    ASSIGN_OR_RETURN(RefPtr<Resource> resource, Get(*ctx.step().resources));
    if (is_reference_) {
      ctx.set_output(0, Tensor::Reference(std::move(resource), DType::kString));
      return OkStatus();
    }
    MutexLock lock(mutex_);
    if (resource.get() != resource_) {
      resource_ = resource.get();
      handle_ = Tensor::Scalar(ResourceHandle(place_, std::move(resource)));
    }
    ctx.set_output(0, handle_);
    return OkStatus();
  }

 protected:
  virtual Result<RefPtr<Resource>> Get(ResourceManager& resources) = 0;
  const ResourceHandle::Place& place() const { return place_; }

 private:
  const bool is_reference_;
  ResourceHandle::Place place_;
  Mutex mutex_;
  Tensor handle_ GUARDED_BY(mutex_);
  Resource* resource_ GUARDED_BY(mutex_) = nullptr;  // kept alive by handle_
};

}  // namespace thalweg
