// SPDX-License-Identifier: Apache-2.0
// What leaves the process of an iterator: where it stands, as a variant that checkpoints and the
// wire carry; its name, as TensorFlow's string handles have it.
// Ownership: tensors and texts of their own; nothing of the iterator is held.
// Threads: any; no state.
// Errors: InvalidArgument for what is none of these.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/data/iterator_state.h"

namespace thalweg {

Result<Tensor> VariantOfState(const IteratorState& state);
Result<IteratorState> StateOfVariant(const Tensor& variant);

// The tensor has one handle.
Result<std::string> TextOfHandle(const Tensor& handle);
Result<ResourceHandle::Place> PlaceOfText(const std::string& text);

}  // namespace thalweg
