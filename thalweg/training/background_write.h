// SPDX-License-Identifier: Apache-2.0
// BackgroundWrite: something that is written by a thread of its own while its owner goes on: at low
// priority and at leisure, so that the owner hardly feels it, and at full speed once somebody
// waits.
//
//   BackgroundWrite write("/models/m-7", [](Leisure& leisure) {
//     leisure.Take(1 << 20);                                  // so many bytes have been written
//     return OkStatus();
//   });
//   RETURN_IF_ERROR(write.Wait(std::chrono::minutes(10)));    // what it came to
//
// Ownership: the thread keeps what the function holds. Who destroys it without waiting leaves the
// thread to itself.
// Threads: any.
// Errors: what the function returns, each time; DeadlineExceeded with the name while it runs on.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "thalweg/base/status.h"

namespace thalweg {

// What the thread of a BackgroundWrite slows itself down with.
class Leisure {
 public:
  virtual ~Leisure() = default;
  // Returns when the bytes that were written so far are no more than 128 MB for each second since
  // the begin, or somebody waits.
  virtual void Take(size_t bytes) = 0;
};

class BackgroundWrite {
 public:
  BackgroundWrite(std::string name, std::function<Status(Leisure&)> work);

  bool is_done() const;
  // Whoever waits makes it hurry.
  Status Wait(std::chrono::nanoseconds patience) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace thalweg
