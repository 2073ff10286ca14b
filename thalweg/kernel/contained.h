// SPDX-License-Identifier: Apache-2.0
// Contained: a resource that knows when its container has dropped it, so that who has found it by
// its name need not look for it again in every step.
//
//   if (queue->is_dropped()) Find(&queue);  // by its name again
//
// ResourceManager tells it; whoever still holds the resource may go on using it.
// Ownership: of who derives from it; the container that drops it lets its reference go.
// Threads: any.
// Errors: none.
#pragma once

#include <atomic>

namespace thalweg {

class Contained {
 public:
  bool is_dropped() const { return is_dropped_.load(std::memory_order_acquire); }
  void Drop() { is_dropped_.store(true, std::memory_order_release); }

 protected:
  ~Contained() = default;

 private:
  std::atomic<bool> is_dropped_{false};
};

}  // namespace thalweg
