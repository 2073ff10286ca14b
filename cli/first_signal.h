// SPDX-License-Identifier: Apache-2.0
// FirstSignal: work that Ctrl-C or SIGTERM ends with what it has, and a second one at once.
//
//   std::atomic<bool> ends = false;
//   const FirstSignal signal([&] { ends = true; });
//   while (!ends) std::puts("work");
//   if (signal.came()) std::puts("there is less");
//
// Ownership: what `end` uses outlives this.
// Threads: one; `end` is called once, on another. One FirstSignal at a time, and no FileWork then.
// Errors: FileError where the system gives no pipe.
#pragma once

#include <atomic>
#include <functional>
#include <future>

namespace cli {

class FirstSignal {
 public:
  explicit FirstSignal(std::function<void()> end);
  FirstSignal(const FirstSignal&) = delete;
  FirstSignal& operator=(const FirstSignal&) = delete;
  ~FirstSignal();

  bool came() const { return came_; }

 private:
  int read_ = -1;
  std::atomic<bool> came_{false};
  std::future<void> watcher_;
};

}  // namespace cli
