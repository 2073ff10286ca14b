// SPDX-License-Identifier: Apache-2.0
// Seeds and keys in shape functions. Private to this family.
// Ownership: the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: InvalidArgument for a seed or key of another shape.
#pragma once

#include "thalweg/graph/shape_inference.h"

namespace thalweg {

// Input i is a seed: a vector of two numbers.
inline Status CheckSeed(const ShapeContext& c, int i) {
  ASSIGN_OR_RETURN(const PartialShape seed, c.InputWithRank(i, 1));
  return Explained(CheckDim(seed.dim(0), 2), "the length of the seed");
}

// Inputs 1 to 3 are a key, a counter and the number of an algorithm.
inline Status CheckKey(const ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape key, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  return Explained(CheckDim(key.dim(0), 1), "the length of the key");
}

}  // namespace thalweg
