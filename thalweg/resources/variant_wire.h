// SPDX-License-Identifier: Apache-2.0
// Variants that leave the process: a value becomes the bytes of a VariantTensorDataProto, which
// tensor_proto.h writes and reads as they are, and bytes become the value again. So travel tensors
// in variants (the parts of sparse tensors) and ragged tensors; what is of another class stays.
//
//   size_t claim_budget = 1 << 20;
//   ASSIGN_OR_RETURN(Tensor sent, WithWireForms(tensor));
//   ASSIGN_OR_RETURN(Tensor received, FromWireForms(sent, &claim_budget));
//
// `claim_budget`: as in TensorReadOptions.
// Ownership: tensors of their own; values that stay are shared.
// Threads: any.
// Errors: InvalidArgument for bytes that are no such value, or nested too deep;
// ResourceExhausted for what claims too much.
#pragma once

#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Of type variant, both.
Result<Tensor> WithWireForms(const Tensor& variants);
Result<Tensor> FromWireForms(const Tensor& variants, size_t* claim_budget);

}  // namespace thalweg
