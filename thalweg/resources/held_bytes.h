// SPDX-License-Identifier: Apache-2.0
// HeldBytes: how much memory of tensors a resource keeps, for who asks what holds the memory.
//
//   class Basket : public Resource, public HoldsBytes { int64_t held_bytes() const override; };
//   const int64_t bytes = HeldBytes(*resource);   // of a variable: its value; 0 where not known
//
// Ownership: none; a HoldsBytes is a side of a resource that others own.
// Threads: any; a resource sees to its own lock.
// Errors: none.
#pragma once

#include <cstdint>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

class HoldsBytes {
 public:
  HoldsBytes() = default;
  HoldsBytes(const HoldsBytes&) = delete;
  HoldsBytes& operator=(const HoldsBytes&) = delete;
  virtual ~HoldsBytes() = default;
  virtual int64_t held_bytes() const = 0;
};

int64_t HeldBytes(const Resource& resource);
// Of a variable: its value; else empty.
Tensor HeldValue(const Resource& resource);

}  // namespace thalweg
