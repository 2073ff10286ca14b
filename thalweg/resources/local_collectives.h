// SPDX-License-Identifier: Apache-2.0
// LocalCollectives: the instances of a step over several tasks all of whose members are in this
// task: they need no other. Made with the plan; StepContext points at it.
// Ownership: the plan's; the step context points at it.
// Threads: any, as it is immutable.
// Errors: none.
#pragma once

#include <set>
#include <utility>

#include "thalweg/resources/collective_call.h"

namespace thalweg {

class LocalCollectives {
 public:
  using Keys = std::set<std::pair<int64_t, int64_t>>;  // group, instance
  explicit LocalCollectives(Keys keys) : keys_(std::move(keys)) {}
  bool Contains(const CollectiveKeys& keys) const {
    return keys_.contains({keys.group_key, keys.instance_key});
  }

 private:
  const Keys keys_;
};

}  // namespace thalweg
