// SPDX-License-Identifier: Apache-2.0
// CollectivesHere: the instances of a step all of whose members are in this task, in the resources
// of a step over several tasks, as kCollectivesHere, where there are any: they need no other task.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/kernel/collective_call.h"
#include "thalweg/tensor/resource.h"

namespace thalweg {

class CollectivesHere final : public Resource {
 public:
  using Keys = std::set<std::pair<int64_t, int64_t>>;  // group, instance
  explicit CollectivesHere(Keys keys) : keys_(std::move(keys)) {}
  std::string DebugString() const override { return "collective operations within the task"; }
  bool Contains(const CollectiveKeys& keys) const {
    return keys_.contains({keys.group_key, keys.instance_key});
  }

 private:
  const Keys keys_;
};
inline constexpr std::string_view kCollectivesHere = "collectives_here";

}  // namespace thalweg
