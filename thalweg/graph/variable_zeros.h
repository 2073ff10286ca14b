// SPDX-License-Identifier: Apache-2.0
// What stands for no gradient of a variable, which its readers know by a handle.
//
//   const Output zeros = ZerosOfVariable(b, handle, VariableType(handle));
//
// Ownership: none.
// Threads: as GraphBuilder.
// Errors: stick in the builder.
#pragma once

#include "thalweg/graph/graph_builder.h"

namespace thalweg {

// Zeros of the shape of the variable that `handle` stands for.
Output ZerosOfVariable(GraphBuilder& b, const Output& handle, DType dtype);
// The element type of that variable; float where it is not known.
DType VariableType(const Output& handle);

}  // namespace thalweg
