// SPDX-License-Identifier: Apache-2.0
// FuseElementwise: trees of element-wise nodes become one _FusedElementwise each, which goes over
// memory once and gives the same bits; with the reductions of what they make, one _FusedReduction.
//
// A node joins the tree of its readers when all of them are in one. A reduction over constant
// dimensions is a tree's root; where it is over the last dimensions and keeps them (layer
// normalization, softmax) it may be inside too. What such a reduction reads, or is made of its
// result, joins also when others read it: it becomes one more output of the new node. Never inside
// a tree: feeds, fetches, targets, nodes that others wait for, references, stateful nodes, nodes
// with a colocation constraint or another device than the root's, and scalars that are computed for
// what is larger: a program of several shapes is planned in every step. The new node has the root's
// name; errors name the node they belong to. Nothing is done where the registries lack the
// operations.
// Ownership: as pass.h: a new graph, or the one given; the registry is used during the call.
// Threads: as pass.h: one.
// Errors: those of the step's budget; Internal where fused nodes would wait for each other.
#pragma once

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> FuseElementwise(const StepGraph& step, const KernelRegistry& kernels);

}  // namespace thalweg
