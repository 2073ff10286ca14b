// SPDX-License-Identifier: Apache-2.0
// ElementStore: where a queue keeps its elements, each `width` tensors: the order in which they
// come out. No locks of its own.
// Ownership: owns its elements until they are popped.
// Threads: one at a time: the queue's lock is held.
// Errors: none; who pops has looked at size().
#pragma once

#include <cstdint>
#include <memory>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

class ElementStore {
 public:
  virtual ~ElementStore() = default;
  virtual int64_t size() const = 0;
  // What its tensors show of their buffers. Not for the hot path: looks at each.
  virtual int64_t bytes() const = 0;
  // Moves `width` tensors in.
  virtual void Push(Tensor* element) = 0;
  // Moves the next element out; there must be one.
  virtual void Pop(Tensor* element) = 0;
  // Takes back an element that was popped: it comes out before those that would have come later.
  virtual void Return(Tensor* element) = 0;
};

// First in, first out.
std::unique_ptr<ElementStore> MakeFifoStore(size_t width);
// Any element, drawn from a Philox stream as TensorFlow draws.
std::unique_ptr<ElementStore> MakeShuffledStore(size_t width, uint64_t seed, uint64_t seed2);
// The smallest int64 scalar of component 0 first; equal ones in the order in which they came.
std::unique_ptr<ElementStore> MakePriorityStore(size_t width);

}  // namespace thalweg
