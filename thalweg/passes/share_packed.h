// SPDX-License-Identifier: Apache-2.0
// SharePacked: a matrix that several products of a step take as b, such as the weight of an
// unrolled network, or one in a loop from outside it, is packed once: one _PackMatrix node a form
// (as it lies, or transposed), and products that read it, each a _PackedMatMul.
//
//   MatMul 'a' (x, w), MatMul 'b' (y, w), ... ->
//   _PackMatrix (w), _PackedMatMul 'a' (x, w, packed), ...
//
// For floats of known shapes, where packing costs more than a trifle of the product. Bits stay.
// Run after MarkWeights, whose weights stay packed from step to step and are left alone here.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> SharePacked(const StepGraph& step);

}  // namespace thalweg
