// SPDX-License-Identifier: Apache-2.0
// The values of a tensor in a TensorProto without type and shape, as checkpoints of format V1 have
// them. TensorFromProto reads them once type and shape are set.
// Ownership: the message copies the elements.
// Threads: any, on distinct messages.
// Errors: Unimplemented for a variant whose type has no wire form; InvalidArgument for an empty
// tensor or a reference.
#pragma once

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// A typed list of all values. Unimplemented for a variant whose type has no wire form;
// InvalidArgument for an empty tensor or a reference.
Status ValuesToProto(const Tensor& tensor, Message* proto);
// Whether the message has a typed list of so many elements of the type.
bool HasValues(const Message& proto, DType dtype, int64_t elements);

}  // namespace thalweg
