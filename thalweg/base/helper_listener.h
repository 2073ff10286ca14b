// SPDX-License-Identifier: Apache-2.0
// HelperListener: who is told when threads that help in a thread's loops (ParallelFor) had no
// processor.
//
//   class Listener : public HelperListener {
//     void AddSwitches(ThreadSwitches::Watch* watch) override { watch->HasNews(); }
//   };
//   Listener listener;
//   const HelperListener::Scope scope(&listener);
//   ... a ParallelFor, whose helpers tell the listener before it returns ...
//
// Ownership: the listener outlives the scope, and loops end within it.
// Threads: AddSwitches is called on threads that help, at the same time; a Scope is for the thread
// that made it, and counts for loops of helpers within its loops, too.
// Errors: none.
#pragma once

#include "thalweg/base/thread_switches.h"

namespace thalweg {

class HelperListener {
 public:
  virtual ~HelperListener() = default;
  // What the watch has is of shards of one loop, which waits for this call.
  virtual void AddSwitches(ThreadSwitches::Watch* watch) = 0;

  // Of loops that this thread begins; null where nobody listens.
  static HelperListener* Current() { return current_; }
  class Scope {
   public:
    explicit Scope(HelperListener* listener) : before_(current_) { current_ = listener; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { current_ = before_; }

   private:
    HelperListener* const before_;
  };

 private:
  static inline thread_local HelperListener* current_ = nullptr;
};

}  // namespace thalweg
