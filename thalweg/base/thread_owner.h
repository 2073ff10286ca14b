// SPDX-License-Identifier: Apache-2.0
// ThreadOwner: which process started a thread. A process that is forked has the objects that a
// thread works on but not the thread: to wait for what it would do is to wait for ever.
//
//   const ThreadOwner owner;           // beside the thread, made when it is started
//   if (!owner.IsThisProcess()) return Aborted("written by another process");
//
// It makes no call to the system.
// Ownership: a value beside the thread that it speaks of.
// Threads: const members from any.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg {

class ThreadOwner {
 public:
  bool IsThisProcess() const { return forks_ == NumForks(); }

 private:
  // How many forks lie between this process and the one that asked first.
  static int64_t NumForks();

  int64_t forks_ = NumForks();
};

}  // namespace thalweg
