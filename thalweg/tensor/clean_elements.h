// SPDX-License-Identifier: Apache-2.0
// CleanElements: for plain elements that come from elsewhere as bytes, a file or another process.
//
//   CleanElements(&value);   // before anybody reads it
//
// A bool must be 0 or 1: of another byte nobody knows what the compiler makes. All but 0 is true.
// Ownership: writes in place, so nobody else may hold the tensor's buffer.
// Threads: any.
// Errors: none.
#pragma once

#include "thalweg/tensor/tensor.h"

namespace thalweg {

void CleanElements(Tensor* tensor);

}  // namespace thalweg
