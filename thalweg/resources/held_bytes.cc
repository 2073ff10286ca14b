// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/held_bytes.h"

#include "thalweg/resources/variable.h"
#include "thalweg/tensor/block_bytes.h"

namespace thalweg {

Tensor HeldValue(const Resource& resource) {
  const auto* const variable = dynamic_cast<const Variable*>(&resource);
  return variable == nullptr ? Tensor() : variable->ReadOrEmpty();
}

int64_t HeldBytes(const Resource& resource) {
  if (const auto* const holder = dynamic_cast<const HoldsBytes*>(&resource)) {
    return holder->held_bytes();
  }
  const Tensor value = HeldValue(resource);
  return value.empty() ? 0 : static_cast<int64_t>(BlockOf(value).bytes);
}

}  // namespace thalweg
