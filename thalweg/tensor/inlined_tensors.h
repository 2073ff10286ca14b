// SPDX-License-Identifier: Apache-2.0
// InlinedTensors: the tensors of a call, in memory of its frame where they are few.
//
//   InlinedTensors feeds(num_feeds);
//   Fill(feeds.span());
//
// Ownership: of the tensors; the span lives as long.
// Threads: one at a time.
// Errors: none; std::bad_alloc where there are many.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

class InlinedTensors {
 public:
  explicit InlinedTensors(size_t size) : size_(size) {
    if (size > kInline) {
      many_.resize(size);
    } else {
      std::uninitialized_default_construct_n(few(), size);
    }
  }
  InlinedTensors(const InlinedTensors&) = delete;
  InlinedTensors& operator=(const InlinedTensors&) = delete;
  ~InlinedTensors() {
    if (size_ <= kInline) std::destroy_n(few(), size_);
  }
  std::span<Tensor> span() { return {size_ > kInline ? many_.data() : few(), size_}; }

 private:
  static constexpr size_t kInline = 8;
  Tensor* few() { return reinterpret_cast<Tensor*>(few_); }

  const size_t size_;
  // Only as many are made as there are: most calls fetch one or none.
  alignas(Tensor) std::byte few_[kInline * sizeof(Tensor)];
  std::vector<Tensor> many_;
};

}  // namespace thalweg
