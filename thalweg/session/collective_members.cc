// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/collective_members.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace thalweg {
namespace {

constexpr std::array<std::string_view, 4> kCollectives = {
    "CollectiveBcastRecv", "CollectiveBcastSend", "CollectiveGather", "CollectiveReduce"};

struct Instance {
  const Node* first = nullptr;
  int64_t group_size = 0;
  int64_t members = 0;
};

using Instances = std::map<std::pair<int64_t, int64_t>, Instance>;  // by group and instance key

Result<Instances> InstancesOf(const std::vector<StepPartition>& parts) {
  Instances instances;
  for (const StepPartition& part : parts) {
    for (const Node* node : part.step.graph->Nodes()) {
      if (std::find(kCollectives.begin(), kCollectives.end(), node->op_name()) ==
              kCollectives.end() ||
          part.step.IsFeed(*node)) {
        continue;
      }
      ASSIGN_OR_RETURN(const int64_t group, node->Attr<int64_t>("group_key"));
      ASSIGN_OR_RETURN(const int64_t key, node->Attr<int64_t>("instance_key"));
      Instance& instance = instances[{group, key}];
      if (instance.members++ > 0) continue;
      instance.first = node;
      ASSIGN_OR_RETURN(instance.group_size, node->Attr<int64_t>("group_size"));
    }
  }
  return instances;
}

}  // namespace

Status CheckCollectiveMembers(const std::vector<StepPartition>& parts) {
  ASSIGN_OR_RETURN(const Instances instances, InstancesOf(parts));
  for (const auto& [keys, instance] : instances) {
    if (instance.members >= instance.group_size) continue;
    return Unimplemented(
        "collective operation '", instance.first->name(), "': group ", keys.first, ", instance ",
        keys.second, " has ", instance.members, " of ", instance.group_size,
        " members in what this step runs; members in steps of other sessions need a cluster, and "
        "in all of them the same ConfigProto.experimental.collective_group_leader, or the same "
        "RunOptions.experimental.collective_graph_key, not 0");
  }
  return OkStatus();
}

Result<std::unique_ptr<const LocalCollectives>> FindLocalCollectives(
    const std::vector<StepPartition>& parts) {
  ASSIGN_OR_RETURN(const Instances instances, InstancesOf(parts));
  LocalCollectives::Keys here;
  for (const auto& [keys, instance] : instances) {
    if (instance.members >= instance.group_size) here.insert(keys);
  }
  if (here.empty()) return std::unique_ptr<const LocalCollectives>();
  return std::make_unique<const LocalCollectives>(std::move(here));
}

Result<int64_t> CollectiveGraphKey(const std::vector<StepPartition>& parts) {
  ASSIGN_OR_RETURN(const Instances instances, InstancesOf(parts));
  if (instances.empty()) return 0;
  std::set<int64_t> keys;
  for (const auto& [group_and_instance, instance] : instances) {
    keys.insert(group_and_instance.second);
  }
  // The numbers are TensorFlow's, so that its masters' steps have the same key.
  uint64_t hash = 0x8774aa605c729c72;
  for (const int64_t key : keys) {
    const auto mixed = static_cast<uint64_t>(key);
    hash = mixed ^ (hash + 0x9e3779b97f4a7800 + (mixed << 10) + (mixed >> 4));
  }
  return static_cast<int64_t>(hash == 0 ? 1 : hash);
}

}  // namespace thalweg
