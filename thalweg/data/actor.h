// SPDX-License-Identifier: Apache-2.0
// Actor: work that goes on in turns, one at a time, on the threads of a queue, and holds none of
// them between its turns.
//
//   struct Producer : Actor { void Turn() override { while (Produce()) {} } };
//   producer->Wake();      // a turn is run, soon, that sees all that came before this call
//
// Ownership: a shared_ptr; a turn that is due keeps its task alive.
// Threads: Wake from any thread, also from inside of a turn; it never runs the turn itself, but
// where the queue has no threads.
// Errors: none; a turn keeps its own.
#pragma once

#include <atomic>
#include <memory>

#include "thalweg/base/work_queue.h"

namespace thalweg {

class Actor : public std::enable_shared_from_this<Actor> {
 public:
  explicit Actor(WorkQueue& queue) : queue_(queue) {}
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  void Wake();

  // For who wants to do a turn's work in his own thread: where it is true no turn runs as long as
  // it lives. Else one runs or is due.
  class Entry {
   public:
    explicit Entry(Actor& actor) : actor_(actor.TryEnter() ? &actor : nullptr) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (actor_ != nullptr) actor_->Leave();
    }
    explicit operator bool() const { return actor_ != nullptr; }

   private:
    Actor* const actor_;
  };

 protected:
  virtual void Turn() = 0;

 private:
  bool TryEnter();
  void Leave();

  enum State : int { kIdle, kDue, kRunning, kAwoken };

  void Schedule();

  WorkQueue& queue_;
  std::atomic<int> state_{kIdle};
};

}  // namespace thalweg
