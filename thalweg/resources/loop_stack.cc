// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/loop_stack.h"

namespace thalweg {

thread_local constinit LoopStack::DeferredFrees* LoopStack::deferred_ = nullptr;

LoopStack::~LoopStack() {
  DeferredFrees own;
  DeferredFrees* const deferred = deferred_ == nullptr ? &own : deferred_;
  for (Tensor& tensor : latest_) {
    // Only a variant can lead to another stack.
    if (tensor.dtype() == DType::kVariant) deferred->tensors.push_back(std::move(tensor));
  }
  if (earlier_ != nullptr) deferred->stacks.push_back(std::move(earlier_));
  if (deferred != &own) return;
  deferred_ = &own;
  while (!own.tensors.empty() || !own.stacks.empty()) {
    if (!own.stacks.empty()) {
      const std::shared_ptr<const LoopStack> last = std::move(own.stacks.back());
      own.stacks.pop_back();
    } else {
      const Tensor last = std::move(own.tensors.back());
      own.tensors.pop_back();
    }
  }
  deferred_ = nullptr;
}

}  // namespace thalweg
