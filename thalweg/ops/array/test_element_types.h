// SPDX-License-Identifier: Apache-2.0
// EveryElementType: makes a case try one type of each element size and kind, for operations that
// only move elements.
#pragma once

#include <string>

#include "thalweg/testing/op_case.h"

namespace thalweg {

inline OpCase EveryElementType(std::string op, const std::string& attr = "T") {
  OpCase made(std::move(op));
  for (DType dtype :
       {DType::kDouble, DType::kFloat, DType::kHalf, DType::kBfloat16, DType::kUint8, DType::kInt16,
        DType::kInt64, DType::kUint64, DType::kBool, DType::kComplex64, DType::kComplex128}) {
    made.Types({{attr, dtype}});
  }
  return made;
}

}  // namespace thalweg
