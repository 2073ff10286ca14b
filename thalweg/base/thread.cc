// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

// While it lives, this thread takes no signals from outside, nor does a thread that it starts,
// ever.
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

std::thread Start(std::string_view name, std::function<void()> run) {
  constexpr size_t kMostLetters = 15;  // of Linux
  const SignalsBlocked blocked;
  return std::thread(
      [name = StrCat("thalweg-", name).substr(0, kMostLetters), run = std::move(run)]() mutable {
        pthread_setname_np(pthread_self(), name.c_str());
        run();
        run = nullptr;  // what it holds goes before the thread counts as ended
      });
}

}  // namespace

Thread::Thread(std::string_view name, std::function<void()> run)
    : thread_(Start(name, std::move(run))) {}

Thread& Thread::operator=(Thread&& other) noexcept {
  Join();
  owner_ = other.owner_;
  thread_ = std::move(other.thread_);
  return *this;
}

void Thread::Detach(std::string_view name, std::function<void()> run) {
  Start(name, std::move(run)).detach();
}

void Thread::Join() {
  if (!thread_.joinable()) return;
  if (owner_.IsThisProcess()) {
    thread_.join();
  } else {
    new std::thread(std::move(thread_));  // it can be neither joined nor detached: it stays
  }
}

}  // namespace thalweg
