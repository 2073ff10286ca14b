// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/resource_manager.h"

#include "thalweg/kernel/contained.h"

namespace thalweg {
namespace {

void TellDropped(Resource& resource) {
  if (auto* const contained = dynamic_cast<Contained*>(&resource)) contained->Drop();
}

}  // namespace

std::string ResourceManager::ContainerName(std::string_view container) {
  return std::string(container.empty() ? kDefaultContainer : container);
}

Result<RefPtr<Resource>> ResourceManager::Find(std::string_view container, std::type_index type,
                                               std::string_view name) const {
  const std::string in = ContainerName(container);
  MutexLock lock(mutex_);
  const auto c = containers_.find(in);
  if (c != containers_.end()) {
    const auto r = c->second.find(Key(type, std::string(name)));
    if (r != c->second.end()) return r->second;
  }
  return NotFound("no resource '", name, "' in container '", in, "'");
}

RefPtr<Resource>& ResourceManager::Slot(std::string_view container, std::type_index type,
                                        std::string_view name) {
  return containers_[ContainerName(container)][Key(type, std::string(name))];
}

void ResourceManager::EraseSlot(std::string_view container, std::type_index type,
                                std::string_view name) {
  containers_[ContainerName(container)].erase(Key(type, std::string(name)));
}

Status ResourceManager::Insert(std::string_view container, std::type_index type,
                               std::string_view name, RefPtr<Resource> resource) {
  MutexLock lock(mutex_);
  RefPtr<Resource>& slot = Slot(container, type, name);
  if (slot)
    return AlreadyExists("resource '", name, "' exists in container '", ContainerName(container),
                         "'");
  slot = std::move(resource);
  return OkStatus();
}

Status ResourceManager::Remove(std::string_view container, std::type_index type,
                               std::string_view name) {
  RefPtr<Resource> removed;  // destroyed after the lock is gone
  MutexLock lock(mutex_);
  const auto c = containers_.find(ContainerName(container));
  if (c != containers_.end()) {
    const auto r = c->second.find(Key(type, std::string(name)));
    if (r != c->second.end()) {
      removed = std::move(r->second);
      TellDropped(*removed);
      c->second.erase(r);
      return OkStatus();
    }
  }
  return NotFound("no resource '", name, "' in container '", ContainerName(container), "'");
}

Status ResourceManager::Destroy(std::string_view container, std::string_view name,
                                const Resource* resource) {
  RefPtr<Resource> removed;  // destroyed after the lock is gone
  MutexLock lock(mutex_);
  const auto c = containers_.find(ContainerName(container));
  if (c != containers_.end()) {
    for (auto r = c->second.begin(); r != c->second.end(); ++r) {
      if (r->first.second != name) continue;
      if (resource != nullptr && r->second.get() != resource) continue;
      removed = std::move(r->second);
      TellDropped(*removed);
      c->second.erase(r);
      return OkStatus();
    }
  }
  return NotFound("no resource '", name, "' in container '", ContainerName(container), "'");
}

void ResourceManager::ResetContainer(std::string_view container) {
  Container dropped;
  MutexLock lock(mutex_);
  const auto c = containers_.find(ContainerName(container));
  if (c == containers_.end()) return;
  dropped = std::move(c->second);
  for (const auto& [key, resource] : dropped) TellDropped(*resource);
  containers_.erase(c);
}

void ResourceManager::ResetAll() {
  std::map<std::string, Container, std::less<>> dropped;
  MutexLock lock(mutex_);
  dropped.swap(containers_);
  for (const auto& [name, container] : dropped) {
    for (const auto& [key, resource] : container) TellDropped(*resource);
  }
}

std::string ResourceManager::DebugString() const {
  std::string out;
  MutexLock lock(mutex_);
  for (const auto& [container, resources] : containers_) {
    for (const auto& [key, resource] : resources) {
      out += StrCat(container, "/", key.second, ": ", resource->DebugString(), "\n");
    }
  }
  return out;
}

}  // namespace thalweg
