// SPDX-License-Identifier: Apache-2.0
// CheckCollectiveMembers: whether the members of each collective operation can all come;
// FindLocalCollectives: whose are all in one task; CollectiveGraphKey: by which steps of several
// sessions find each other.
// Ownership: the instances are the caller's, who puts them into the step's context.
// Threads: any, while nobody changes the parts.
// Errors: Unimplemented where members would wait for ever, with group and instance; those of
// reading attributes.
#pragma once

#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/passes/partition.h"
#include "thalweg/resources/local_collectives.h"

namespace thalweg {

// Unimplemented where a group is larger than the members of one instance among these parts, which
// are all that a step runs: they would wait for ever. Operations whose keys are inputs are known
// only when they run.
Status CheckCollectiveMembers(const std::vector<StepPartition>& parts);

// The instances of the parts that a step runs in this task; null where there are none.
Result<std::unique_ptr<const LocalCollectives>> FindLocalCollectives(
    const std::vector<StepPartition>& parts);

// The collective_graph_key of a step whose caller says none: of the set of instance keys among
// these parts, as TensorFlow's masters count it; 0 where there are none. So sessions run one step
// where their graphs differ but have the same collective operations in what is fetched.
Result<int64_t> CollectiveGraphKey(const std::vector<StepPartition>& parts);

}  // namespace thalweg
