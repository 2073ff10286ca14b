// SPDX-License-Identifier: Apache-2.0
// IdlePoller: what a thread does while the step that it runs has nothing for it, instead of
// spinning: such as looking for messages of other tasks.
// Ownership: whoever makes one keeps it until no step runs that was given it.
// Threads: every member from any.
// Errors: none.
#pragma once

#include <functional>

namespace thalweg {

class IdlePoller {
 public:
  virtual ~IdlePoller() = default;
  // Returns when `ready` says so; looks, and sleeps when nothing comes. Other threads ask `ready`,
  // too, and it takes no locks.
  virtual void WorkUntil(const std::function<bool()>& ready) = 0;
  // For whoever has made something ready that a thread may wait for in WorkUntil.
  virtual void Wake() = 0;
};

}  // namespace thalweg
