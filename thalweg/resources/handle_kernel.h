// SPDX-License-Identifier: Apache-2.0
// HandleKernel: a kernel that gives a reference or a handle to a resource of the session's
// containers, named by the attributes of its node. One that is Contained is looked up once, until
// its container drops it.
//
//   class ShelfCpu : public HandleKernel {
//     Result<RefPtr<Resource>> Get(ResourceManager& resources) override;   // finds or makes it
//   };
//
// Ownership: of a resource that is not Contained it keeps nothing; of one that is, a handle until
// its container drops it.
// Threads: as a kernel.
// Errors: those of Get, and of the attributes.
#pragma once

#include <string>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/contained.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

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
    {
      MutexLock lock(mutex_);
      if (contained_ != nullptr && !contained_->is_dropped()) {
        ctx.set_output(0, handle_);
        return OkStatus();
      }
    }
    ASSIGN_OR_RETURN(RefPtr<Resource> resource, Get(*ctx.step().resources));
    MutexLock lock(mutex_);
    if (resource.get() != resource_) Keep(std::move(resource));
    ctx.set_output(0, handle_);
    return OkStatus();
  }

 protected:
  virtual Result<RefPtr<Resource>> Get(ResourceManager& resources) = 0;
  const ResourceHandle::Place& place() const { return place_; }

 private:
  void Keep(RefPtr<Resource> resource) REQUIRES(mutex_) {
    resource_ = resource.get();
    contained_ = dynamic_cast<const Contained*>(resource_);
    handle_ = is_reference_ ? Tensor::Reference(std::move(resource), DType::kString)
                            : Tensor::Scalar(ResourceHandle(place_, std::move(resource)));
  }

  const bool is_reference_;
  ResourceHandle::Place place_;
  Mutex mutex_;
  Tensor handle_ GUARDED_BY(mutex_);
  Resource* resource_ GUARDED_BY(mutex_) = nullptr;          // kept alive by handle_
  const Contained* contained_ GUARDED_BY(mutex_) = nullptr;  // the same, where it is one
};

}  // namespace thalweg
