// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <utility>

#include "thalweg/data/kept_elements.h"
#include "thalweg/data/mapping.h"

namespace thalweg {
namespace {

// At once: each holds an element.
constexpr int64_t kMostCalls = 4096;

class Map : public DatasetOver {
 public:
  Map(DatasetPtr input, ElementFunctionPtr function, ElementSpec spec, const MapOptions& options)
      : DatasetOver(std::move(spec), std::move(input)),
        function_(std::move(function)),
        options_(options) {}
  std::string Kind() const override { return options_.calls == 1 ? "Map" : "ParallelMap"; }
  int64_t Cardinality() const override { return input_->Cardinality(); }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    const bool is_open = options_.calls == kAutotune;
    const int64_t calls =
        is_open ? pipeline->parallelism : std::clamp<int64_t>(options_.calls, 1, kMostCalls);
    if (calls == 1) return StagePtr(std::make_unique<InTurnStage>(std::move(input), function_));
    TunedCallsPtr tuned;
    if (is_open && pipeline.options.autotune && pipeline->tuner != nullptr && calls > 1) {
      tuned = pipeline->tuner->Add();
    }
    return StagePtr(std::make_unique<MapStage>(
        std::move(input), *this, static_cast<size_t>(calls), std::move(tuned),
        options_.deterministic.value_or(pipeline.options.deterministic), shared_from_this()));
  }

 private:
  // One call at a time, made when it is asked for.
  class InTurnStage : public InputStage {
   public:
    InTurnStage(StagePtr input, ElementFunctionPtr function)
        : InputStage(std::move(input)), call_(std::move(function)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (!call_.open()) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
        if (poll != Poll::kElement) return poll;
        call_.Begin(poller, std::move(*out));
      }
      return call_.Get(poller, out);
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      call_.Save(writer);
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      RETURN_IF_ERROR(call_.Restore(poller, reader));
      return InputStage::Restore(poller, reader);
    }

   private:
    CallInTurn call_;
  };

  class MapStage : public InputStage {
   public:
    MapStage(StagePtr input, const Map& map, size_t calls, TunedCallsPtr tuned, bool in_order,
             DatasetPtr owner)
        : InputStage(std::move(input)),
          map_(map),
          most_(calls),
          tuned_(std::move(tuned)),
          in_order_(in_order),
          owner_(std::move(owner)) {
      if (map_.function_->function->never_waits()) pace_ = std::make_shared<CallPace>();
    }

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      RETURN_IF_ERROR(BeginCalls(poller));
      if (calls_.empty()) return ended_ ? Poll::kEnd : Poll::kPending;
      const size_t which = in_order_ ? 0 : FirstEnded();
      // To be awoken costs more than a short call.
      if (CallsOfTask(poller) > 1) {
        while (!calls_[which].call->ended() && RunLast()) continue;
      }
      Result<Poll> poll = calls_[which].call->Get(poller, out);
      if (poll.ok() && *poll == Poll::kPending) {
        if (in_order_) return poll;
        return Others(poller, out);
      }
      Drop(which);
      return poll;
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      // Calls that go on are made again.
      writer.Add(static_cast<int64_t>(calls_.size()));
      for (const Open& open : calls_) writer.Add(open.call->element());
      writer.Add(ended_ ? 1 : 0);
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t calls = 0, ended = 0;
      RETURN_IF_ERROR(reader.ReadCount(&calls));
      for (int64_t i = 0; i < calls; ++i) {
        Element element;
        RETURN_IF_ERROR(reader.Read(&element));
        Add(poller, std::move(element));
      }
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      return InputStage::Restore(poller, reader);
    }

   private:
    struct Open {
      std::shared_ptr<ElementCall> call;
      size_t charged = 0;  // beside its tensors
    };

    size_t FirstEnded() const {
      for (size_t i = 0; i < calls_.size(); ++i) {
        if (calls_[i].call->ended()) return i;
      }
      return 0;
    }
    // Makes the last call that no thread makes or has made; false where there is none.
    bool RunLast() {
      for (auto open = calls_.rbegin(); open != calls_.rend(); ++open) {
        if (open->call->TryRunHere()) return true;
      }
      return false;
    }
    size_t most() const { return tuned_ != nullptr ? static_cast<size_t>(tuned_->most()) : most_; }
    // How many calls are handed over at once.
    size_t CallsOfTask(const Poller& poller) const {
      if (pace_ == nullptr || poller.pipeline()->queue == nullptr || most() == 1) return 1;
      return pace_->CallsOfTask();
    }
    // Whoever asks makes calls, too: his is one of those that may go on at once.
    bool MayBeginTask(size_t calls) const {
      return static_cast<size_t>(pace_->open_tasks()) + 1 < most() &&
             calls_.size() + calls <= most() * calls;
    }

    // As many as may go on at once, and the input has elements and the session memory for.
    Status BeginCalls(const Poller& poller) {
      const size_t calls = CallsOfTask(poller);
      Result<Poll> poll = Poll::kElement;
      if (calls == 1) {
        while (calls_.size() < most() && poll.ok() && *poll == Poll::kElement) {
          poll = BeginCall(poller);
          if (poll.ok() && *poll == Poll::kElement) HandOver(poller, {calls_.back().call});
        }
        return poll.status();
      }
      while (MayBeginTask(calls) && poll.ok() && *poll == Poll::kElement) {
        std::vector<std::shared_ptr<ElementCall>> task;
        while (task.size() < calls) {
          poll = BeginCall(poller);
          if (!poll.ok() || *poll != Poll::kElement) break;
          task.push_back(calls_.back().call);
        }
        if (!task.empty()) HandOver(poller, std::move(task));
      }
      // Where all threads have other work the caller makes it.
      if (calls_.empty() && poll.ok() && *poll == Poll::kElement) poll = BeginCall(poller);
      return poll.status();
    }
    void HandOver(const Poller& poller, std::vector<std::shared_ptr<ElementCall>> task) const {
      if (pace_ == nullptr) return task.front()->Begin();
      WorkQueue* const queue = poller.pipeline()->queue;
      if (queue != nullptr) ElementCall::BeginTogether(std::move(task), *queue, pace_);
    }
    // With the next element of the input, or its error. kPending: there is none now, or no room.
    Result<Poll> BeginCall(const Poller& poller) {
      if (ended_) return Poll::kEnd;
      if (!calls_.empty() && !charge_.IsPaid(poller.allocator())) return Poll::kPending;
      RETURN_IF_ERROR(poller.Look());
      Element element;
      Result<Poll> poll = input_->Next(poller, &element);
      if (!poll.ok()) {
        RETURN_IF_ERROR(poller.Look());
        // In its place among the others.
        calls_.push_back({std::make_shared<ElementCall>(poll.status(), poller.pipeline())});
        return Poll::kElement;
      }
      ended_ = *poll == Poll::kEnd;
      if (*poll == Poll::kElement) Add(poller, std::move(element));
      return poll;
    }
    void Add(const Poller& poller, Element element) {
      const size_t charged = charge_.Add(poller.allocator(), element);
      calls_.push_back({std::make_shared<ElementCall>(map_.function_, std::move(element),
                                                      poller.pipeline(), tuned_, pace_),
                        charged});
    }
    void Drop(size_t which) {
      charge_.Remove(calls_[which].charged);
      calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(which));
    }
    // Whatever ends first is good: all calls wake the poller.
    Result<Poll> Others(const Poller& poller, Element* out) {
      for (size_t i = 1; i < calls_.size(); ++i) {
        Result<Poll> poll = calls_[i].call->Get(poller, out);
        if (poll.ok() && *poll == Poll::kPending) continue;
        Drop(i);
        return poll;
      }
      return Poll::kPending;
    }

    const Map& map_;
    const size_t most_;
    const TunedCallsPtr tuned_;  // null: it is always `most_`
    CallPacePtr pace_;           // null: the function may wait, its calls need no thread
    const bool in_order_;
    const DatasetPtr owner_;
    std::deque<Open> calls_;
    OwedCharge charge_;
    bool ended_ = false;
  };

  const ElementFunctionPtr function_;
  const MapOptions options_;
};

}  // namespace

DatasetPtr MapDataset(DatasetPtr input, ElementFunctionPtr function, ElementSpec spec,
                      const MapOptions& options) {
  return std::make_shared<Map>(std::move(input), std::move(function), std::move(spec), options);
}

}  // namespace thalweg
