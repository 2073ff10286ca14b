// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/dealer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "thalweg/kernel/caught_exception.h"

namespace thalweg {
namespace {

class HandStage : public Stage {
 public:
  HandStage(std::shared_ptr<Dealer> dealer, size_t user)
      : dealer_(std::move(dealer)), user_(user) {}
  Result<Poll> DoNext(const Poller& poller, Element* out) override {
    return dealer_->Next(user_, poller, out);
  }
  Result<Poll> Save(const Poller&, StateWriter&) override { return NotSaved(); }
  Status Restore(const Poller&, StateReader&) override { return NotSaved(); }

 private:
  static Status NotSaved() {
    return FailedPrecondition("an iterator of several devices cannot be saved");
  }
  const std::shared_ptr<Dealer> dealer_;
  const size_t user_;
};

}  // namespace

Dealer::Dealer(WorkQueue& queue, std::shared_ptr<Pipeline> pipeline, StagePtr input, size_t users,
               size_t buffer)
    : Actor(queue),
      pipeline_(std::move(pipeline)),
      input_(std::move(input)),
      buffer_(std::max<size_t>(buffer, 1)),
      hands_(users) {}

Result<Poll> Dealer::Next(size_t user, const Poller& poller, Element* out) {
  if (std::optional<Result<Poll>> taken = Take(user, poller, out)) return *std::move(taken);
  {
    // Where nobody deals, who asks does it until he has his own.
    const Entry entry(*this);
    if (entry) DealOut(poller.step(), user);
  }
  if (pipeline_->queue != nullptr) Wake();
  if (std::optional<Result<Poll>> taken = Take(user, poller, out)) return *std::move(taken);
  return Poll::kPending;
}

std::optional<Result<Poll>> Dealer::Take(size_t user, const Poller& poller, Element* out) {
  std::optional<Dealt> first;
  bool is_waited_for = false;
  {
    MutexLock lock(mutex_);
    Hand& hand = hands_[user];
    if (!hand.elements.empty()) {
      // What comes next may be for others that wait.
      is_waited_for = hand.elements.size() >= buffer_ && !ended_ &&
                      (pipeline_->queue != nullptr ||
                       std::any_of(hands_.begin(), hands_.end(),
                                   [](const Hand& h) { return !h.user.expired(); }));
      first = std::move(hand.elements.front());
      hand.elements.pop_front();
      charge_.Remove(first->charged);
      hand.user.reset();
    } else if (ended_) {
      return failure_.ok() ? Result<Poll>(Poll::kEnd) : Result<Poll>(failure_);
    } else {
      hand.user = poller.actor();
      return std::nullopt;
    }
  }
  // Without a lock: where there are no threads the turn comes at once.
  if (is_waited_for) Wake();
  if (!first->element.ok()) return first->element.status();
  *out = *std::move(first->element);
  return Poll::kElement;
}

bool Dealer::HasRoom() {
  MutexLock lock(mutex_);
  return !ended_ && hands_[next_].elements.size() < buffer_;
}

bool Dealer::HasElementOf(size_t user) {
  MutexLock lock(mutex_);
  return user < hands_.size() && !hands_[user].elements.empty();
}

void Dealer::Turn() {
  try {
    DealOut(nullptr, SIZE_MAX);
  } catch (...) {  // for want of memory
    End(CaughtException());
  }
}

void Dealer::DealOut(const CancellationManager* step, size_t user) {
  const Poller poller(pipeline_, weak_from_this(), step);
  while (HasRoom() && !HasElementOf(user) && poller.Look().ok()) {
    Element element;
    Result<Poll> poll = input_->Next(poller, &element);
    if (poll.ok() && *poll == Poll::kPending) return;
    if (!poll.ok() && !poller.Look().ok()) return;
    if (poll.ok() && *poll == Poll::kEnd) return End(OkStatus());
    Deal(std::move(poll), std::move(element));
  }
}

void Dealer::Deal(Result<Poll> poll, Element element) {
  std::shared_ptr<Actor> user;
  {
    MutexLock lock(mutex_);
    Hand& hand = hands_[next_];
    next_ = (next_ + 1) % hands_.size();
    Dealt dealt{Element(), 0};
    if (!poll.ok()) {
      dealt.element = poll.status();
    } else {
      const size_t bytes = KeptBytes(element);
      Status charged = ChargeTexts(*pipeline_->allocator, element);
      if (charged.ok()) charged = charge_.Add(*pipeline_->allocator, bytes);
      // One that finds no room is there all the same: it is one of few.
      dealt = {std::move(element), charged.ok() ? bytes : 0};
    }
    hand.elements.push_back(std::move(dealt));
    user = std::exchange(hand.user, {}).lock();
  }
  if (user != nullptr) user->Wake();
}

void Dealer::End(const Status& failure) {
  std::vector<std::shared_ptr<Actor>> users;
  {
    MutexLock lock(mutex_);
    ended_ = true;
    failure_ = failure;
    for (Hand& hand : hands_) users.push_back(std::exchange(hand.user, {}).lock());
  }
  for (const auto& user : users) {
    if (user != nullptr) user->Wake();
  }
}

StagePtr HandOf(std::shared_ptr<Dealer> dealer, size_t user) {
  return std::make_unique<HandStage>(std::move(dealer), user);
}

}  // namespace thalweg
