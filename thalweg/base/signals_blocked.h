// SPDX-License-Identifier: Apache-2.0
// SignalsBlocked: while it lives, this thread takes no signals from outside, nor does a thread that
// it starts, ever. So a signal to the process reaches a thread of the host program: Python sees a
// Ctrl-C that another thread takes only when somebody asks for its lock. What a thread does to
// itself (a wrong address) and what profilers send are let through.
//
//   { const SignalsBlocked blocked; std::thread other([] { Work(); }); }
//
// Threads: each has its own.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace thalweg {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t most;
    sigfillset(&most);
    for (const int let_through :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      sigdelset(&most, let_through);
    }
    pthread_sigmask(SIG_BLOCK, &most, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace thalweg
