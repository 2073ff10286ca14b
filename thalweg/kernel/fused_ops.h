// SPDX-License-Identifier: Apache-2.0
// FusedOps: what follows a product or a convolution in one kernel: the attribute fused_ops of
// _FusedMatMul and _FusedConv2D, with TensorFlow's names in the order in which they may come.
//
//   ASSIGN_OR_RETURN(fused_, FusedOps::Parse(construction, false));
//   ...
//   RETURN_IF_ERROR(fused_.Activate(ctx.work(), y));   // what the product did not do itself
//
// Ownership: a value; Activate writes into a tensor that nobody else holds.
// Threads: const members from any.
// Errors: Unimplemented for names that are unknown or out of place, InvalidArgument for another
// number of args.
#pragma once

#include <optional>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

struct FusedOps {
  bool batch_norm = false;  // of convolutions, in the place of a bias
  bool bias = false;
  bool residual = false;
  bool relu = false;                           // left to the product
  std::optional<compute::UnaryOp> activation;  // any but relu
  bool leaky_relu = false;
  float alpha = 0;  // of leaky_relu

  // Inputs beside the two operands.
  int args() const { return (batch_norm ? 4 : 0) + (bias ? 1 : 0) + (residual ? 1 : 0); }

  // Reads fused_ops, num_args and leakyrelu_alpha. Unimplemented for names that are unknown or out
  // of place, InvalidArgument for another number of args.
  static Result<FusedOps> Parse(const KernelConstruction& construction, bool may_batch_norm);
  // In place; a floating-point type.
  Status Activate(compute::Work& work, Tensor* y) const;
};

}  // namespace thalweg
