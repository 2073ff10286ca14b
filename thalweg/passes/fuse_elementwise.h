// SPDX-License-Identifier: Apache-2.0
// FuseElementwise: trees of element-wise nodes become one _FusedElementwise each, which goes over
// memory once and gives the same bits.
//
// A node joins the tree of its readers when all of them are in one; the root alone is seen from
// outside. Never inside a tree: feeds, fetches, targets, nodes that others wait for, references,
// stateful nodes, nodes with a colocation constraint or another device than the root's. The new
// node has the root's name; errors name the node they belong to. Nothing is done where the
// registries lack _FusedElementwise.
#pragma once

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> FuseElementwise(const StepGraph& step, const KernelRegistry& kernels);

}  // namespace thalweg
