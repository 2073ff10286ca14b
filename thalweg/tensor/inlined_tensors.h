// SPDX-License-Identifier: Apache-2.0
// InlinedTensors: the tensors of a call, in memory of its frame where they are few.
//
//   InlinedTensors feeds(num_feeds);
//   Fill(feeds.span());
//
// Ownership: of the tensors; the span lives as long.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

class InlinedTensors {
 public:
  explicit InlinedTensors(size_t size) : size_(size) {
    if (size > kInline) many_.resize(size);
  }
  std::span<Tensor> span() { return {size_ > kInline ? many_.data() : few_.data(), size_}; }

 private:
  static constexpr size_t kInline = 8;
  size_t size_;
  std::array<Tensor, kInline> few_;
  std::vector<Tensor> many_;
};

}  // namespace thalweg
