// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/group_collectives.h"

#include <algorithm>
#include <utility>

namespace thalweg {

GroupCollectives* GroupOf(std::span<const CollectiveCall> calls) {
  auto* const first = dynamic_cast<GroupCollectives*>(calls.front().memory);
  if (first == nullptr) return nullptr;
  const bool all_join = std::ranges::all_of(calls.subspan(1), [first](const CollectiveCall& call) {
    return call.memory != nullptr && first->JoinsWith(*call.memory);
  });
  return all_join ? first : nullptr;
}

Status AddCollectiveKernels(KernelRegistry& registry, std::string_view device_type) {
  const std::vector<const KernelEntry*> entries = registry.Entries();
  // Those whose members wait for each other; others of that name count members, and are no part.
  const auto is_collective = [](const KernelEntry* entry, std::string_view type) {
    return entry->is_async && entry->device_type == type && entry->op.starts_with("Collective");
  };
  if (std::ranges::any_of(entries, [&](auto* e) { return is_collective(e, device_type); })) {
    return OkStatus();
  }
  for (const KernelEntry* entry : entries) {
    if (!is_collective(entry, kCpu)) continue;
    KernelEntry own = *entry;
    own.device_type = device_type;
    if (own.op.ends_with("V2")) own.host_memory = {"group_size", "group_key", "instance_key"};
    if (own.op == "CollectiveBcastRecvV2") own.host_memory.emplace_back("shape");
    RETURN_IF_ERROR(registry.AddUserKernel(std::move(own)));
  }
  return OkStatus();
}

}  // namespace thalweg
