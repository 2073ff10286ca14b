// SPDX-License-Identifier: Apache-2.0
// ThreadOwner: which process started a thread. A process that is forked has the object of the
// thread but not the thread: to join it would wait for ever.
//
//   ThreadOwner owner;                 // beside the thread, made when it is started
//   owner.Join(thread);
//
// Threads: const members from any.
#pragma once

#include <unistd.h>

#include <thread>
#include <utility>

namespace thalweg {

class ThreadOwner {
 public:
  bool IsThisProcess() const { return process_ == getpid(); }
  // Joins where the thread is, forgets it where it is not: its object stays, as it can be neither
  // joined nor detached there. Nothing for one that was never started.
  void Join(std::thread& thread) const {
    if (!thread.joinable()) return;
    if (IsThisProcess()) {
      thread.join();
    } else {
      new std::thread(std::move(thread));
    }
  }

 private:
  const pid_t process_ = getpid();
};

}  // namespace thalweg
