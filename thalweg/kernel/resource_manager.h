// SPDX-License-Identifier: Apache-2.0
// ResourceManager: resources by container, type and name; they outlive steps and may be shared by
// sessions (A4.7).
//   ASSIGN_OR_RETURN(RefPtr<Variable> v, manager.LookupOrCreate<Variable>(
//                                            "", "w", [] { return MakeVariable(); }));
// The empty container name means the default one.
// Ownership: shares each resource; who looked one up holds a reference of its own, also after it
// was dropped.
// Threads: every member from any thread; `create` runs under the lock, once for one name, and must
// not call the manager.
// Errors: NotFound, also where only one of another type has the name, and AlreadyExists, with
// container and name; those of `create`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class ResourceManager {
 public:
  static constexpr std::string_view kDefaultContainer = "localhost";

  template <class T>
  Result<RefPtr<T>> Lookup(std::string_view container, std::string_view name) const {
    ASSIGN_OR_RETURN(RefPtr<Resource> r, Find(container, typeid(T), name));
    return RefPtr<T>::Adopt(static_cast<T*>(r.release()));
  }
  // `create` returns Result<RefPtr<T>>.
  template <class T, class F>
  Result<RefPtr<T>> LookupOrCreate(std::string_view container, std::string_view name, F&& create) {
    MutexLock lock(mutex_);
    RefPtr<Resource>& slot = Slot(container, typeid(T), name);
    if (!slot) {
      Result<RefPtr<T>> made = create();
      if (!made.ok()) {
        EraseSlot(container, typeid(T), name);
        return std::move(made).status();
      }
      slot = RefPtr<Resource>::Adopt((*std::move(made)).release());
    }
    return RefPtr<T>::Share(static_cast<T*>(slot.get()));
  }
  // AlreadyExists when the name is taken.
  template <class T>
  Status Create(std::string_view container, std::string_view name, RefPtr<T> resource) {
    return Insert(container, typeid(T), name, RefPtr<Resource>::Adopt(resource.release()));
  }
  template <class T>
  Status Delete(std::string_view container, std::string_view name) {
    return Remove(container, typeid(T), name);
  }
  // Drops `resource`, whatever its type; null: the one resource of this name. NotFound where the
  // container has it no more.
  Status Destroy(std::string_view container, std::string_view name, const Resource* resource);
  // Drops everything of the container; steps that hold a resource keep it till they end.
  void ResetContainer(std::string_view container);
  void ResetAll();
  // A line per resource, for dumps.
  std::string DebugString() const;

 private:
  using Key = std::pair<std::type_index, std::string>;
  using Container = std::map<Key, RefPtr<Resource>>;

  static std::string ContainerName(std::string_view container);
  Result<RefPtr<Resource>> Find(std::string_view container, std::type_index type,
                                std::string_view name) const;
  RefPtr<Resource>& Slot(std::string_view container, std::type_index type, std::string_view name)
      REQUIRES(mutex_);
  void EraseSlot(std::string_view container, std::type_index type, std::string_view name)
      REQUIRES(mutex_);
  Status Insert(std::string_view container, std::type_index type, std::string_view name,
                RefPtr<Resource> resource);
  Status Remove(std::string_view container, std::type_index type, std::string_view name);

  mutable Mutex mutex_;
  std::map<std::string, Container, std::less<>> containers_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
