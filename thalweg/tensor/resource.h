// SPDX-License-Identifier: Apache-2.0
// Resource: state that outlives a step (a variable, a queue, a table), reference counted, kept by a
// ResourceManager. ResourceHandle: the element of a resource tensor: where the resource lives, and
// the resource itself when it is in this process.
// Ownership: a handle shares its place and holds a reference to the resource; the resource lives
// till the last one goes.
// Threads: handles as a std::shared_ptr; a Resource sees to its own lock.
// Errors: none; null where there is no place or resource.
#pragma once

#include <memory>
#include <string>

#include "thalweg/tensor/counted.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg {

class Resource : public Counted {
 public:
  Resource() : Counted(Kind::kResource) {}
  virtual ~Resource() = default;
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  // One line for dumps: what it is and how big.
  virtual std::string DebugString() const = 0;
};

class ResourceHandle {
 public:
  struct Place {
    std::string device;     // full device name
    std::string container;  // "localhost" is the default container
    std::string name;
    std::string type_name;  // such as "Var", as the wire names it
    uint64_t hash_code = 0;
  };
  ResourceHandle() = default;
  ResourceHandle(Place place, RefPtr<Resource> resource)
      : place_(std::make_shared<const Place>(std::move(place))), resource_(std::move(resource)) {}
  // Null for an element that was never set.
  const Place* place() const { return place_.get(); }
  // Null when the resource is in another process or was only named, not yet looked up.
  Resource* resource() const { return resource_.get(); }

 private:
  std::shared_ptr<const Place> place_;
  RefPtr<Resource> resource_;
};

}  // namespace thalweg
