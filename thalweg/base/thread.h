// SPDX-License-Identifier: Apache-2.0
// Thread: a thread of the core, and the one way to start one. Debuggers and `top -H` show its name,
// "thalweg-timer". It takes no signals from outside: these are for threads of the host program, as
// Python sees a Ctrl-C that another thread takes only when somebody asks for its lock. What a
// thread does to itself (a wrong address) and what profilers send are let through.
//
//   Thread thread("timer", [] { Loop(); });
//   thread.Join();
//   Thread::Detach("close", [] { Work(); });
//
// Ownership: the destructor and an assignment join. A process that is forked has the object and not
// the thread: nothing there waits for it.
// Threads: the members of one object from one thread at a time.
// Errors: std::system_error where the system gives no thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "thalweg/base/thread_owner.h"

namespace thalweg {

class Thread {
 public:
  Thread() = default;
  Thread(std::string_view name, std::function<void()> run);
  Thread(Thread&& other) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread() { Join(); }

  // What nobody waits for.
  static void Detach(std::string_view name, std::function<void()> run);

  void Join();
  // Whether it was started, in this process, and not joined yet.
  bool IsHere() const { return thread_.joinable() && owner_.IsThisProcess(); }
  bool IsCurrent() const { return thread_.get_id() == std::this_thread::get_id(); }

 private:
  ThreadOwner owner_;
  std::thread thread_;
};

}  // namespace thalweg
