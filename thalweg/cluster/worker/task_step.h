// SPDX-License-Identifier: Apache-2.0
// TaskStep: what one task has of a step: the rendezvous in which its nodes and those of other tasks
// meet. A value is kept where it was sent until somebody asks for it; one that another task has is
// asked for there. StepTable: the steps of a task by number.
//
//   std::shared_ptr<TaskStep> step = table.Find(id);           // made when it is new
//   step->RecvForPeer(key, done);                              // may come before the step runs
//   table.Erase(id, Cancelled("the step has ended"));          // answers who still waits
//
// Threads: every member from any. Errors: after Abort, and for a step that has ended, everything
// gets that status. A key is received once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/notification.h"
#include "thalweg/cluster/peers/peers.h"
#include "thalweg/kernel/local_rendezvous.h"

namespace thalweg {

// "src;incarnation in hex;dst;edge;frame:iteration", as RendezvousKey writes it.
Result<RendezvousKey> ParseRendezvousKey(std::string_view text);

class TaskStep : public Rendezvous {
 public:
  TaskStep(int64_t id, Peers& peers, AllocatorPtr allocator)
      : id_(id), peers_(peers), allocator_(std::move(allocator)) {}

  int64_t id() const { return id_; }
  // Of the whole step in this task: cancelling it ends what runs and waits.
  CancellationManager& cancellation() { return cancellation_; }

  Status Send(const RendezvousKey& key, Delivery delivery) override {
    return here_.Send(key, std::move(delivery));
  }
  void Recv(const RendezvousKey& key, RecvDone done) override;
  void Abort(Status reason) override;
  // A graph of this task that runs over several calls (a partial run).
  struct Part {
    Notification ended;
    Status status;  // once it has ended
  };
  // By the graph's name; *is_new: made by this call, who runs it now.
  std::shared_ptr<Part> FindPart(const std::string& graph, bool* is_new) EXCLUDES(mutex_);
  // What was or will be sent here.
  void RecvForPeer(const RendezvousKey& key, RecvDone done) { here_.Recv(key, std::move(done)); }

 private:
  const int64_t id_;
  Peers& peers_;
  const AllocatorPtr allocator_;
  LocalRendezvous here_;
  CancellationManager cancellation_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Part>> parts_ GUARDED_BY(mutex_);
};

class StepTable {
 public:
  StepTable(Peers& peers, AllocatorPtr allocator)
      : peers_(peers), allocator_(std::move(allocator)) {}

  // Aborted for a step that has ended; ResourceExhausted when too many are open.
  Result<std::shared_ptr<TaskStep>> Find(int64_t id) EXCLUDES(mutex_);
  // Ends the step, or refuses it should it still come.
  void Erase(int64_t id, Status reason) EXCLUDES(mutex_);
  void EraseAll(const Status& reason) EXCLUDES(mutex_);

 private:
  Peers& peers_;
  const AllocatorPtr allocator_;
  Mutex mutex_;
  std::unordered_map<int64_t, std::shared_ptr<TaskStep>> steps_ GUARDED_BY(mutex_);
  std::unordered_set<int64_t> ended_ GUARDED_BY(mutex_);
  std::deque<int64_t> ended_order_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
