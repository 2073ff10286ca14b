// SPDX-License-Identifier: Apache-2.0
// What the graph alone says about the value of an output: constants, and small integer vectors
// computed from shapes and constants. Used by shape inference. Work is bounded: long chains and
// wide fans end in "unknown".
// Ownership: a tensor shares the constant's buffer, or is a new one.
// Threads: as for reading a Graph.
// Errors: none; an empty tensor or an unknown shape for what is not fixed.
#pragma once

#include "thalweg/graph/graph.h"

namespace thalweg {

// The value when it is fixed; an empty tensor otherwise. A null output has none.
Tensor ConstantValue(const Output& output);
// The value of an integer vector read as a shape, -1 and what is not known being unknown
// dimensions. A scalar -1 means unknown, as does anything that is no integer vector.
PartialShape ConstantValueAsShape(const Output& output);

}  // namespace thalweg
