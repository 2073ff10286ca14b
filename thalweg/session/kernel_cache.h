// SPDX-License-Identifier: Apache-2.0
// KernelCache: the kernels of a session. Those that keep state exist once for each node of the
// user's graph and device, shared by all plans; all others are made anew for each plan.
// Ownership: shares what keeps state with the plans; registry, resources and devices outlive it.
// Threads: all calls from any thread.
// Errors: those of KernelRegistry::Make.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

class KernelCache {
 public:
  // Both outlive the cache.
  KernelCache(const KernelRegistry& registry, ResourceManager& resources)
      : registry_(registry), resources_(resources) {}
  // The kernel of `node`, which stands for the user's `origin` (null: nobody's).
  Result<std::shared_ptr<Kernel>> Get(const Node& node, const Node* origin, Device& device)
      EXCLUDES(mutex_);
  // Forgets what keeps state; plans that exist keep theirs.
  void Clear() EXCLUDES(mutex_);

 private:
  Result<std::shared_ptr<Kernel>> Make(const Node& node, Device& device) const;

  const KernelRegistry& registry_;
  ResourceManager& resources_;
  Mutex mutex_;
  std::map<std::pair<const Node*, const Device*>, std::shared_ptr<Kernel>> kept_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
