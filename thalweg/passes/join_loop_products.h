// SPDX-License-Identifier: Apache-2.0
// JoinLoopProducts: a matrix to which every iteration of a loop adds a product, such as the
// gradient of a weight that a recurrent network's loop reads, becomes one sum of products:
//
//   Enter, Merge, Switch, AddV2(Switch:1, MatMul(a, b)), NextIteration, Exit ->
//   _StartProducts, Enter, Merge, Switch, _AddProduct(Switch:1, a, b), NextIteration, Exit,
//   _EndProducts
//
// It gathers the operands of iterations of little depth (few rows), and makes one product of some
// hundred rows out of them, instead of reading and writing the matrix in every iteration. Only
// where nobody else sees the parts (no other reader, not fetched, no control edges from them), for
// float and double, without colocation, and for matrices of some size. The sum is made in another
// order: last places may differ.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> JoinLoopProducts(const StepGraph& step);

}  // namespace thalweg
