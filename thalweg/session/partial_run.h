// SPDX-License-Identifier: Apache-2.0
// PartialRun: one step whose feeds come, and whose fetches go, in several calls; they meet it in a
// rendezvous. It goes on on the environment's threads and holds none while it waits.
//
//   ASSIGN_OR_RETURN(auto run, PartialRun::Start(core, feeds, fetches, targets, options));
//   RETURN_IF_ERROR(run->Continue(some_feeds, some_fetches, &outputs));
//
// Ownership: the destructor cancels the step and waits for its end.
// Threads: all calls from any thread; calls of Continue() wait for each other's fetches only where
// they ask for them.
// Errors: InvalidArgument for a feed or fetch that was not named, came before or lacks feeds, which
// changes nothing; the step's, for every later call; FailedPrecondition in a forked process.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/notification.h"
#include "thalweg/base/thread_owner.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/session/session_core.h"

namespace thalweg {

class PartialRun {
 public:
  static Result<std::unique_ptr<PartialRun>> Start(SessionCore& core,
                                                   std::span<const std::string> feeds,
                                                   std::span<const std::string> fetches,
                                                   std::span<const std::string> targets,
                                                   const RunOptions& options);
  // Use Start().
  PartialRun(const Device& client, CancellationManager* parent)
      : client_(client), cancellation_(parent) {}
  ~PartialRun();

  // Gives feeds, waits for fetches. An error of the step is the error of every later call; an error
  // of the arguments changes nothing.
  Status Continue(std::span<const Session::NamedTensor> feeds, std::span<const std::string> fetches,
                  std::vector<Tensor>* outputs) EXCLUDES(mutex_);
  // True when all feeds were given, all fetches taken, or the step failed: nothing is left to do.
  bool IsOver() EXCLUDES(mutex_);
  // Waits until the step has ended; its error.
  Status Join();
  // An error in a process that was forked since: the step goes on in the other alone, and no other
  // call here would end.
  Status CheckProcess() const;
  void Cancel(Status reason) { cancellation_.Cancel(std::move(reason)); }

 private:
  void Begin(StepRequest request);
  void FindFeedsOfFetches();
  Status CheckCall(std::span<const Session::NamedTensor> feeds,
                   std::span<const std::string> fetches, std::vector<int>* feed_numbers,
                   std::vector<int>* fetch_numbers) REQUIRES(mutex_);

  const Device& client_;
  std::shared_ptr<StepPlan> plan_;
  std::unordered_map<std::string, int> feed_of_name_;
  std::unordered_map<std::string, int> fetch_of_name_;
  std::vector<std::vector<int>> needs_;  // by fetch: the feeds that it depends on
  LocalRendezvous rendezvous_;
  CancellationManager cancellation_;
  Mutex mutex_;
  std::vector<bool> fed_ GUARDED_BY(mutex_);
  std::vector<bool> fetched_ GUARDED_BY(mutex_);
  Status step_status_ GUARDED_BY(mutex_);
  const ThreadOwner owner_;
  bool is_started_ = false;
  Notification ended_;
};

}  // namespace thalweg
