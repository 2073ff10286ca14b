// SPDX-License-Identifier: Apache-2.0
// The one table of tolerances: by class of operation and element type, how far a kernel may be from
// a reference in double: |a - b| <= tolerance * (1 + |b|).
//
//   made.Tolerance(DType::kHalf, ToleranceOf(OpClass::kSum, DType::kHalf));
//
// A kernel is held to twice TensorFlow's own error and two units in the last place. TensorFlow's
// errors in the table were measured with tensorflow-cpu 2.21.0 (oneDNN on, AVX-512) against its own
// kernels in double, or the formula in double, for the inputs that cases use: numbers around one,
// sums of some hundred elements. Double is held to what the references reach.
// Ownership: none; numbers.
// Threads: any; no state.
// Errors: none.
#pragma once

#include <cstdint>

#include "thalweg/tensor/dtype.h"

namespace thalweg {

enum class OpClass : uint8_t {
  kActivation,   // activations and their gradients; Softplus of bfloat16 is the worst
  kArithmetic,   // a few operations, each rounded: two inputs, short sums
  kBatchNorm,    // normalizations, LRN too, and their gradients; measured of one
  kBiasGrad,     // sums over all but one dimension
  kCell,         // steps of recurrent cells, every gate rounded
  kConvolution,  // convolutions and their gradients
  kDefault,      // what a case says nothing about
  kFunction,     // a function of one number, rounded once
  kLinear,       // factorizations, solvers and functions of small matrices of good condition
  kMorphology,   // dilation and its gradients, which add up in the element type
  kOptimizer,    // one step of an optimizer, each operation rounded
  kPool,         // pooling and its gradients
  kProduct,      // sums of products, made in float for narrow types
  kSoftmax,      // softmax, its logarithm, cross entropies
  kSum,          // long sums and products, where errors add up
};

// 0 for integers and bool: they are compared exactly.
double ToleranceOf(OpClass op_class, DType dtype);

}  // namespace thalweg
