// SPDX-License-Identifier: Apache-2.0
// DTypeWord: the name of an element type as TensorFlow's C++ spells it in messages that programs
// look for: "float", "double" and "half"; the others as DTypeName does.
// Ownership: the text is static.
// Threads: any; no state.
// Errors: none.
#pragma once

#include "thalweg/tensor/dtype.h"

namespace thalweg {

inline std::string_view DTypeWord(DType dtype) {
  if (dtype == DType::kFloat) return "float";
  if (dtype == DType::kDouble) return "double";
  return dtype == DType::kHalf ? "half" : DTypeName(dtype);
}

}  // namespace thalweg
