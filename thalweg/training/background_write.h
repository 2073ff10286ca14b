// SPDX-License-Identifier: Apache-2.0
// BackgroundWrite: something that is written by a thread of its own, at low priority, while its
// owner goes on.
//
//   BackgroundWrite write("/models/m-7", [] { return OkStatus(); });
//   RETURN_IF_ERROR(write.Wait(std::chrono::minutes(10)));    // what it came to
//
// Ownership: the thread keeps what the function holds. Who destroys it without waiting leaves the
// thread to itself.
// Threads: any.
// Errors: what the function returns, each time; DeadlineExceeded with the name while it runs on.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "thalweg/base/status.h"

namespace thalweg {

class BackgroundWrite {
 public:
  BackgroundWrite(std::string name, std::function<Status()> work);

  bool is_done() const;
  Status Wait(std::chrono::nanoseconds patience) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace thalweg
