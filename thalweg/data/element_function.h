// SPDX-License-Identifier: Apache-2.0
// ElementFunction: a function of the graph that stages call with elements, and what it has
// captured.
// ElementCall: one call of it, which whoever needs its result makes himself if no thread has come.
// CallInTurn: one call after the other, each by who asks for its result where it cannot wait.
//
//   auto call = std::make_shared<ElementCall>(function_, std::move(element), poller.pipeline());
//   call->Begin();  // in the background, where there are threads
//   ASSIGN_OR_RETURN(const Poll poll, call->Get(poller, &results));
//
// Ownership: a call that goes on owns itself.
// Threads: Begin and Get one at a time.
// Errors: Get: those of the function, with the stage and its line put before them; Cancelled where
// the pass has ended.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/mutex.h"
#include "thalweg/data/call_pace.h"
#include "thalweg/data/stage.h"
#include "thalweg/kernel/function_runner.h"

namespace thalweg {

struct ElementFunction {
  std::shared_ptr<BoundFunction> function;
  std::vector<Tensor> captured;  // follow the element's components as arguments
  // What errors call the dataset, "MapDataset 'decode'", and the line of the program that made it.
  std::string stage{};
  std::string site{};
};
using ElementFunctionPtr = std::shared_ptr<const ElementFunction>;

class ElementCall : public std::enable_shared_from_this<ElementCall> {
 public:
  // `tuned` and `pace` are told how long it took; null: nobody is.
  ElementCall(ElementFunctionPtr function, Element element, std::shared_ptr<Pipeline> pipeline,
              TunedCallsPtr tuned = nullptr, CallPacePtr pace = nullptr)
      : function_(std::move(function)),
        element_(std::move(element)),
        pipeline_(std::move(pipeline)),
        tuned_(std::move(tuned)),
        pace_(std::move(pace)) {}
  // One that has ended already.
  ElementCall(Result<Element> result, std::shared_ptr<Pipeline> pipeline)
      : pipeline_(std::move(pipeline)), claimed_(true), ended_(true), result_(std::move(result)) {}

  // What it is called with.
  const Element& element() const { return element_; }
  // On another thread, if there is one and the caller does not come to Get before.
  void Begin();
  // The same with several, of a function that never waits, as one task: one after the other.
  static void BeginTogether(std::vector<std::shared_ptr<ElementCall>> calls, WorkQueue& queue,
                            const CallPacePtr& pace);
  // Makes the call here; false where somebody has.
  bool TryRunHere() EXCLUDES(mutex_);
  // kElement: `out` has the results, once. kPending: the poller's task is awoken at the end.
  Result<Poll> Get(const Poller& poller, Element* out) EXCLUDES(mutex_);
  // Get would not be kPending, nor call the function.
  bool ended() EXCLUDES(mutex_);

 private:
  bool Claim() { return !claimed_.load(std::memory_order_relaxed) && !claimed_.exchange(true); }
  bool is_timed() const { return tuned_ != nullptr || pace_ != nullptr; }
  void RunHere() EXCLUDES(mutex_);
  void Start();
  void End(Result<Element> result) EXCLUDES(mutex_);
  std::vector<Tensor> Arguments() const;

  const ElementFunctionPtr function_;
  const Element element_;
  const std::shared_ptr<Pipeline> pipeline_;
  const TunedCallsPtr tuned_;
  const CallPacePtr pace_;
  SystemClock::TimePoint begun_;      // where it is timed
  std::atomic<bool> claimed_{false};  // somebody calls the function
  Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  Result<Element> result_ GUARDED_BY(mutex_) = Element();
  std::weak_ptr<Actor> waits_ GUARDED_BY(mutex_);
};

// One call after the other, each begun when it is asked for: what most stages need. All pollers are
// of one pipeline.
class CallInTurn {
 public:
  // `function` may be null where nothing is called.
  explicit CallInTurn(ElementFunctionPtr function) : function_(std::move(function)) {}
  bool open() const { return is_open_; }
  // The element that the open call has.
  const Element& element() const { return call_ != nullptr ? call_->element() : element_; }
  // Takes what is in `element`, which may have the room of an earlier one afterwards.
  void Begin(const Poller& poller, Element&& element);
  Result<Poll> Get(const Poller& poller, Element* out);
  // Whether a call is open, and its element; Restore begins it again.
  void Save(StateWriter& writer) const;
  Status Restore(const Poller& poller, StateReader& reader);

 private:
  // In the caller's thread: nothing is made for a call but what the function makes.
  Status Run(const Poller& poller, Element* out);

  const ElementFunctionPtr function_;
  bool is_open_ = false;
  std::shared_ptr<ElementCall> call_;   // of a function that may wait
  Element element_;                     // of one that never does
  std::vector<Tensor> arguments_;       // a call's, what is captured at their end
  std::shared_ptr<Pipeline> pipeline_;  // whose cancellation ends the calls
  std::unique_ptr<RepeatedCall> repeated_;
};

}  // namespace thalweg
