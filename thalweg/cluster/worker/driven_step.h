// SPDX-License-Identifier: Apache-2.0
// DrivenStep: a step over several tasks, as the task that drives it has it: starts the parts,
// cancels them after the first error, collects what they fetch.
//
//   DrivenStep step(request, meeting, now);
//   step.Start(lowest_open, now);  ... run the part of this task ...
//   Status status = step.Await(clock);     // when nobody writes to the request any more
//
// Threads: Start and Await from one; the others from any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/cluster/master/step_driver.h"
#include "thalweg/cluster/transport/channel_hub.h"
#include "thalweg/cluster/worker/channel_step.h"

namespace thalweg {

// A part on another task.
struct RemoteStepPart {
  std::shared_ptr<Link> link;
  uint64_t plan = 0;
  uint64_t incarnation = 0;
  std::vector<std::pair<int, ChannelEdge>> feeds;    // number in the step
  std::vector<std::pair<int, ChannelEdge>> fetches;  // likewise
};

struct DriveRequest {
  uint64_t session = 0;
  std::span<const RemoteStepPart> parts;
  std::shared_ptr<const ChannelEdges> edges;          // of the part of this task
  std::function<Status(ChannelStep& step)> run_here;  // may be null
  std::span<const Tensor> feeds;
  std::span<Tensor> fetches;
  std::function<void(uint64_t step)> opened;  // may be null: hears the step's number, first of all
  std::chrono::nanoseconds timeout{0};        // as the parts hear it; 0: none
  std::chrono::nanoseconds grace{0};          // for them to say, after it, why they have not ended
  CancellationManager* cancellation = nullptr;
  bool names_tasks = true;  // an error says which task it comes from
};

class DrivenStep {
 public:
  using Time = StepDriver::Time;
  // `request` outlives Await.
  DrivenStep(const DriveRequest& request, std::shared_ptr<ChannelStep> meeting, ChannelHub& hub,
             Time now);

  ChannelStep& meeting() { return *meeting_; }
  // "the end of its part of TASK" for each that has not answered.
  void AppendOwed(std::vector<std::string>* owed) EXCLUDES(mutex_);
  void Start(uint64_t lowest_open, Time now);
  // The part of this task has ended.
  void EndHere() { here_done_.store(true, std::memory_order_release); }
  Status Await(const Clock& clock) EXCLUDES(mutex_);

  // What happens to it. Of a link that takes no part: nothing.
  void Done(const Link& link, Time now) EXCLUDES(mutex_);
  void Failed(const Link& link, const Status& why, bool derived, Time now) EXCLUDES(mutex_);
  void Lost(const Link& link, const Status& why, Time now) EXCLUDES(mutex_);
  void Stop(const Status& why, bool derived, Time now) EXCLUDES(mutex_);

 private:
  void StartPart(const RemoteStepPart& part, uint64_t lowest_open, Time now);
  void Expect(int fetch, const ChannelEdge& edge);
  void Tick(Time now) EXCLUDES(mutex_);
  void Fetched(const Status& status) EXCLUDES(mutex_);
  int FindPart(const Link& link) const;
  void React(const StepDriver::Reaction& reaction) EXCLUDES(mutex_);
  void NoteEnd() REQUIRES(mutex_);
  std::string Unanswered() REQUIRES(mutex_);

  const DriveRequest& request_;               // until Await returns
  std::vector<std::shared_ptr<Link>> links_;  // of the parts
  const bool names_tasks_;
  const std::shared_ptr<ChannelStep> meeting_;
  ChannelHub& hub_;
  const Time deadline_;
  std::atomic<bool> ended_{false};  // all parts but this task's
  std::atomic<bool> here_done_;
  std::atomic<bool> limited_{false};  // since Await looked, there is a limit to the wait
  Mutex mutex_;
  StepDriver driver_ GUARDED_BY(mutex_);
  size_t open_fetches_ GUARDED_BY(mutex_) = 0;
  Status late_error_ GUARDED_BY(mutex_);  // after all parts were done
};

}  // namespace thalweg
