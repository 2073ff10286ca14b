// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/kernel_cache.h"

#include "thalweg/session/waiting_nodes.h"

namespace thalweg {
namespace {

// What messages call it: of one that a pass has made, the user's node.
std::string LabelOf(const Node& node) {
  const AttrValue* const from = node.FindAttr("_fused_from");
  const auto* label = from == nullptr ? nullptr : from->GetIf<std::string>();
  return label == nullptr ? node.Label() : *label;
}

}  // namespace

Result<std::shared_ptr<Kernel>> KernelCache::Make(const Node& node, Device& device) const {
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, registry_.Make(node, device, resources_));
  if (kernel->AsAsync() == nullptr) return std::shared_ptr<Kernel>(std::move(kernel));
  return std::shared_ptr<Kernel>(std::make_shared<WatchedKernel>(std::move(kernel), LabelOf(node)));
}

Result<std::shared_ptr<Kernel>> KernelCache::Get(const Node& node, const Node* origin,
                                                 Device& device) {
  ASSIGN_OR_RETURN(const KernelEntry* entry, registry_.Find(node, device.type()));
  // A node that a pass made of another operation keeps no state of it.
  if (!entry->keeps_state || origin == nullptr || origin->op_name() != node.op_name()) {
    return Make(node, device);
  }
  MutexLock lock(mutex_);
  std::shared_ptr<Kernel>& kept = kept_[{origin, &device}];
  if (kept == nullptr) {
    Result<std::shared_ptr<Kernel>> made = Make(*origin, device);
    if (!made.ok()) {
      kept_.erase({origin, &device});
      return made;
    }
    kept = *std::move(made);
  }
  return kept;
}

void KernelCache::Clear() {
  MutexLock lock(mutex_);
  kept_.clear();
}

}  // namespace thalweg
