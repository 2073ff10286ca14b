// SPDX-License-Identifier: Apache-2.0
// Dealer: deals the elements of one pass out to several users in turn, the first to the first, the
// second to the second, ... Each takes its own when it likes; elements that others have not taken
// yet wait for them, so many each.
//
//   auto dealer = std::make_shared<Dealer>(*queue, pipeline, std::move(stage), 2, 1);
//   StagePtr second = HandOf(dealer, 1);
//
// Ownership: hands share it. It ends with the pipeline's cancellation.
// Threads: all calls from any; a hand as a stage.
// Errors: that of an element is told to whom it was dealt.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/data/kept_elements.h"

namespace thalweg {

class Dealer : public Actor {
 public:
  // `buffer`: elements that wait for a user, at least one.
  Dealer(WorkQueue& queue, std::shared_ptr<Pipeline> pipeline, StagePtr input, size_t users,
         size_t buffer);

  Result<Poll> Next(size_t user, const Poller& poller, Element* out) EXCLUDES(mutex_);

 private:
  struct Dealt {
    Result<Element> element;
    size_t charged = 0;
  };
  struct Hand {
    std::deque<Dealt> elements;
    std::weak_ptr<Actor> user;  // waits
  };

  void Turn() override EXCLUDES(mutex_);
  // Nothing where there is none yet.
  std::optional<Result<Poll>> Take(size_t user, const Poller& poller, Element* out)
      EXCLUDES(mutex_);
  // Until there is no room, or `user` has one. By who has entered.
  void DealOut(const CancellationManager* step, size_t user) EXCLUDES(mutex_);
  bool HasRoom() EXCLUDES(mutex_);
  bool HasElementOf(size_t user) EXCLUDES(mutex_);
  void Deal(Result<Poll> poll, Element element) EXCLUDES(mutex_);
  void End(const Status& failure) EXCLUDES(mutex_);

  const std::shared_ptr<Pipeline> pipeline_;
  const StagePtr input_;  // of who has entered the task
  const size_t buffer_;
  Mutex mutex_;
  std::vector<Hand> hands_ GUARDED_BY(mutex_);
  SteppedCharge charge_ GUARDED_BY(mutex_);
  size_t next_ GUARDED_BY(mutex_) = 0;
  bool ended_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);  // why it ended before its input did
};

// A stage of what is dealt to one user.
StagePtr HandOf(std::shared_ptr<Dealer> dealer, size_t user);

}  // namespace thalweg
