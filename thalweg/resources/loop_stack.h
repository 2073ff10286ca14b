// SPDX-License-Identifier: Apache-2.0
// LoopStack: what a variant that holds a loop stack carries: the values that a loop remembered, one
// record an iteration, the latest first. Immutable: a push makes a new stack that shares the old
// one, so that it takes the same time however long the stack is, and nobody's view changes.
//
//   auto longer = std::make_shared<const LoopStack>(stack, std::move(record));
//
// Ownership: records live as long as a stack that has them. Freeing one recurses neither along
// the stack nor into stacks within its records.
// Threads: any may read.
// Errors: none.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/tensor/tensor.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {

class LoopStack : public VariantValue, public std::enable_shared_from_this<LoopStack> {
 public:
  // A stack of no iterations.
  LoopStack() = default;
  LoopStack(std::shared_ptr<const LoopStack> earlier, std::vector<Tensor> latest)
      : length_(earlier->length() + 1), latest_(std::move(latest)), earlier_(std::move(earlier)) {}
  ~LoopStack() override;
  LoopStack(const LoopStack&) = delete;
  LoopStack& operator=(const LoopStack&) = delete;

  int64_t length() const { return length_; }
  // Empty when length() is 0.
  const std::vector<Tensor>& latest() const { return latest_; }
  // Null when length() is 0.
  const std::shared_ptr<const LoopStack>& earlier() const { return earlier_; }

  std::string TypeName() const override { return "thalweg::LoopStack"; }
  std::string DebugString() const override {
    return StrCat("a loop stack of ", length_, " iterations");
  }

 private:
  // What stacks leave behind while one is being freed.
  struct DeferredFrees {
    std::vector<Tensor> tensors;
    std::vector<std::shared_ptr<const LoopStack>> stacks;
  };
  static thread_local constinit DeferredFrees* deferred_;

  int64_t length_ = 0;
  std::vector<Tensor> latest_;
  std::shared_ptr<const LoopStack> earlier_;
};

}  // namespace thalweg
