// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/waiter_queues.h"

#include <utility>

namespace thalweg {

void WaiterQueues::Join(std::unique_ptr<Waiter> waiter) {
  waiter->home = RefPtr<Resource>::Share(this);
  CancellationManager& cancellation = *waiter->ctx.step().cancellation;
  Ended ended;
  {
    MutexLock lock(mutex_);
    Waiter* const w = waiter.get();
    Line& line = lines_[w->line];
    w->place = line.insert(line.end(), std::move(waiter));
    w->in_line = true;
    // Under the lock: a callback that comes now waits for it, and finds the waiter in its line.
    if (!w->cancellation.Begin(&cancellation, [this, w](const Status& why) { Cancel(w, why); })) {
      w->status = cancellation.Reason();
      Leave(*w, &ended);
    } else {
      AdvanceAll(&ended);
    }
  }
  End(std::move(ended));
}

void WaiterQueues::Leave(Waiter& waiter, Ended* ended) {
  waiter.in_line = false;
  ended->push_back(std::move(*waiter.place));
  lines_[waiter.line].erase(waiter.place);
}

bool WaiterQueues::AdvanceIn(size_t line, Ended* ended) {
  bool changed = false;
  for (auto at = lines_[line].begin(); at != lines_[line].end();) {
    Waiter& waiter = **at++;
    const Progress progress = Advance(waiter);
    changed |= progress != Progress::kNone;
    if (progress == Progress::kEnded) {
      Leave(waiter, ended);
    } else if (orders_[line] == Order::kFirst) {
      break;
    }
  }
  return changed;
}

void WaiterQueues::AdvanceAll(Ended* ended) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t line = 0; line < lines_.size(); ++line) changed |= AdvanceIn(line, ended);
  }
}

void WaiterQueues::FailAll(size_t line, const Status& why, Ended* ended) {
  while (!lines_[line].empty()) {
    Waiter& waiter = *lines_[line].front();
    Withdraw(waiter);
    waiter.status = why;
    Leave(waiter, ended);
  }
}

void WaiterQueues::Cancel(Waiter* waiter, const Status& why) {
  Ended ended;
  {
    MutexLock lock(mutex_);
    // Whoever took it from its line waits, in End, for this callback to return.
    if (!waiter->in_line) return;
    Withdraw(*waiter);
    waiter->status = why;
    Leave(*waiter, &ended);
    AdvanceAll(&ended);
  }
  End(std::move(ended));
}

void WaiterQueues::End(Ended ended) {
  for (std::unique_ptr<Waiter>& waiter : ended) {
    waiter->cancellation.End();
    waiter->OnEnd();
    if (waiter->status.ok()) waiter->status = Finish(*waiter);
    // After this the step and its context may be gone.
    std::move(waiter->done)(std::move(waiter->status));
    waiter.reset();  // may end this resource, with the last one
  }
}

}  // namespace thalweg
