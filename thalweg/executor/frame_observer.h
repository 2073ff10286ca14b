// SPDX-License-Identifier: Apache-2.0
// FrameObserver: is told of every loop frame that a step opens, before anything in the frame runs.
// For those who name frames by other rules than FrameTag.
// Ownership: whoever runs the step keeps it until the step has ended.
// Threads: OnFrame from any of the step's threads.
// Errors: none.
#pragma once

#include <cstdint>
#include <string_view>

namespace thalweg {

class FrameObserver {
 public:
  virtual ~FrameObserver() = default;
  // `tag`: of iteration 0 of the frame; `parent`: of the iteration that opens it.
  virtual void OnFrame(uint64_t tag, uint64_t parent, std::string_view name) = 0;
};

}  // namespace thalweg
