// SPDX-License-Identifier: Apache-2.0
// JoinProducts: a sum of matrix products of floats becomes one product of the operands side by
// side:
//
//   AddN(MatMul(a1, b1), MatMul(a2, b2), ...) -> MatMul(ConcatV2(a1, a2, ...), ConcatV2(b1, b2,
//       ...))
//
// The gradient of a weight that an unrolled network uses at every step is such a sum; each of its
// terms is as large as the weight, and made of few rows. Joined they are never written. Only where
// nobody else sees the products (one reader, not fetched, no control edges from them), all shapes
// are known, on the same device, without colocation, and where copying the operands is cheaper than
// writing the products. Terms of other kinds stay in the AddN. The sum is made in another order, as
// that of one long product: last places may differ.
// Ownership: as pass.h: a new graph, or the one given.
// Threads: as pass.h: one.
// Errors: those of the step's budget.
#pragma once

#include "thalweg/passes/pass.h"

namespace thalweg {

Result<StepGraph> JoinProducts(const StepGraph& step);

}  // namespace thalweg
