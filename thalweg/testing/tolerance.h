// SPDX-License-Identifier: Apache-2.0
// The one table of tolerances: by class of operation and element type, how far a kernel may be from
// a reference in double: |a - b| <= tolerance * (1 + |b|).
//
//   made.Tolerance(DType::kHalf, ToleranceOf(OpClass::kSum, DType::kHalf));
//
// What a kernel is held to is twice TensorFlow's own error and two units in the last place; an
// entry says what that comes to for the inputs that cases use (numbers around one, sums of some
// hundred elements).
#pragma once

#include <cstdint>

#include "thalweg/tensor/dtype.h"

namespace thalweg {

enum class OpClass : uint8_t {
  kDefault,     // what a case says nothing about
  kArithmetic,  // a few operations, each rounded: two inputs, short sums
  kFunction,    // a function of one number, rounded once
  kProduct,     // sums of products, made in float for narrow types
  kSum,         // long sums and products, where errors add up
};

// 0 for integers and bool: they are compared exactly.
double ToleranceOf(OpClass op_class, DType dtype);

}  // namespace thalweg
