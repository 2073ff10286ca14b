// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/mapping.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "thalweg/data/kept_elements.h"

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
  Result<StagePtr> MakeStage(const PipelineRef& pipeline) const override {
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

    Result<Poll> Next(const Poller& poller, Element* out) override {
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
          owner_(std::move(owner)) {}

    Result<Poll> Next(const Poller& poller, Element* out) override {
      RETURN_IF_ERROR(BeginCalls(poller));
      if (calls_.empty()) return ended_ ? Poll::kEnd : Poll::kPending;
      size_t which = 0;
      if (!in_order_) {
        for (size_t i = 0; i < calls_.size() && which == 0; ++i) {
          which = calls_[i].call->ended() ? i : 0;
        }
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

    // As many as may go on at once, and the input has elements and the session memory for.
    Status BeginCalls(const Poller& poller) {
      const size_t most = tuned_ != nullptr ? static_cast<size_t>(tuned_->most()) : most_;
      while (!ended_ && calls_.size() < most &&
             (calls_.empty() || charge_.IsPaid(poller.allocator()))) {
        RETURN_IF_ERROR(poller.Look());
        Element element;
        Result<Poll> poll = input_->Next(poller, &element);
        if (!poll.ok()) {
          RETURN_IF_ERROR(poller.Look());
          // In its place among the others.
          calls_.push_back({std::make_shared<ElementCall>(poll.status(), poller.pipeline())});
          continue;
        }
        if (*poll == Poll::kPending) return OkStatus();
        if (*poll == Poll::kEnd) {
          ended_ = true;
          return OkStatus();
        }
        Add(poller, std::move(element));
        calls_.back().call->Begin();
      }
      return OkStatus();
    }
    void Add(const Poller& poller, Element element) {
      const size_t charged = charge_.Add(poller.allocator(), element);
      calls_.push_back({std::make_shared<ElementCall>(map_.function_, std::move(element),
                                                      poller.pipeline(), tuned_),
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
    const bool in_order_;
    const DatasetPtr owner_;
    std::deque<Open> calls_;
    OwedCharge charge_;
    bool ended_ = false;
  };

  const ElementFunctionPtr function_;
  const MapOptions options_;
};

class Filter : public DatasetOver {
 public:
  Filter(const DatasetPtr& input, ElementFunctionPtr predicate, bool stops)
      : DatasetOver(input), predicate_(std::move(predicate)), stops_(stops) {}
  std::string Kind() const override { return stops_ ? "TakeWhile" : "Filter"; }
  Result<StagePtr> MakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<FilterStage>(std::move(input), predicate_, stops_));
  }

 private:
  class FilterStage : public InputStage {
   public:
    FilterStage(StagePtr input, ElementFunctionPtr predicate, bool stops)
        : InputStage(std::move(input)), call_(std::move(predicate)), stops_(stops) {}

    Result<Poll> Next(const Poller& poller, Element* out) override {
      while (!stopped_) {
        if (!call_.open()) {
          RETURN_IF_ERROR(poller.Look());
          ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
          if (poll != Poll::kElement) return poll;
          element_.assign(out->begin(), out->end());
          call_.Begin(poller, std::move(*out));
        }
        ASSIGN_OR_RETURN(const Poll poll, call_.Get(poller, &results_));
        if (poll != Poll::kElement) return poll;
        ASSIGN_OR_RETURN(const bool keep, PredicateOf(results_));
        out->swap(element_);
        if (keep) return Poll::kElement;
        stopped_ = stops_;
      }
      return Poll::kEnd;
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(stopped_ ? 1 : 0);
      writer.Add(call_.open() ? 1 : 0);
      if (call_.open()) writer.Add(element_);
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t stopped = 0, open = 0;
      RETURN_IF_ERROR(reader.Read(&stopped));
      stopped_ = stopped != 0;
      RETURN_IF_ERROR(reader.Read(&open));
      if (open != 0) {
        RETURN_IF_ERROR(reader.Read(&element_));
        call_.Begin(poller, Element(element_));
      }
      return InputStage::Restore(poller, reader);
    }

   private:
    CallInTurn call_;
    const bool stops_;
    Element element_;  // of the open call
    Element results_;  // of the last one
    bool stopped_ = false;
  };

  const ElementFunctionPtr predicate_;
  const bool stops_;
};

class Scan : public DatasetOver {
 public:
  Scan(DatasetPtr input, Element initial, ElementFunctionPtr function, ElementSpec spec,
       bool preserve_cardinality)
      : DatasetOver(std::move(spec), std::move(input)),
        initial_(std::move(initial)),
        function_(std::move(function)),
        preserve_cardinality_(preserve_cardinality) {}
  std::string Kind() const override { return "Scan"; }
  int64_t Cardinality() const override {
    return preserve_cardinality_ ? input_->Cardinality() : kUnknown;
  }
  Result<StagePtr> MakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<ScanStage>(std::move(input), initial_, function_));
  }

 private:
  class ScanStage : public InputStage {
   public:
    ScanStage(StagePtr input, Element state, ElementFunctionPtr function)
        : InputStage(std::move(input)), state_(std::move(state)), call_(std::move(function)) {}

    Result<Poll> Next(const Poller& poller, Element* out) override {
      if (!call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
        if (poll != Poll::kElement) return poll;
        Element arguments = state_;
        std::move(out->begin(), out->end(), std::back_inserter(arguments));
        call_.Begin(poller, std::move(arguments));
      }
      Element results;
      Result<Poll> poll = call_.Get(poller, &results);
      // A function that is at the end of what it reads ends the dataset.
      if (!poll.ok() && poll.status().code() == Code::kOutOfRange) return Poll::kEnd;
      if (!poll.ok() || *poll != Poll::kElement) return poll;
      if (results.size() < state_.size()) {
        return InvalidArgument("the function of a scan must give the ", state_.size(),
                               " components of the next state and those of an element, got ",
                               results.size(), " values");
      }
      const auto rest = results.begin() + static_cast<std::ptrdiff_t>(state_.size());
      out->assign(rest, results.end());
      state_.assign(results.begin(), rest);
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(state_);
      writer.Add(call_.open() ? call_.element() : Element());
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      Element open;
      RETURN_IF_ERROR(reader.Read(&state_));
      RETURN_IF_ERROR(reader.Read(&open));
      if (!open.empty()) call_.Begin(poller, std::move(open));
      return InputStage::Restore(poller, reader);
    }

   private:
    Element state_;
    CallInTurn call_;
  };

  const Element initial_;
  const ElementFunctionPtr function_;
  const bool preserve_cardinality_;
};

class WithOptions : public DatasetOver {
 public:
  WithOptions(const DatasetPtr& input, StageOptions options)
      : DatasetOver(input), options_(options) {}
  std::string Kind() const override { return "Options"; }
  int64_t Cardinality() const override { return input_->Cardinality(); }
  Result<StagePtr> MakeStage(const PipelineRef& pipeline) const override {
    const PipelineRef inside(pipeline.shared, pipeline.depth, pipeline.options & options_);
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(inside));
    return StagePtr(std::make_unique<OptionsStage>(std::move(input), options_));
  }

 private:
  // So that stages which are made as it goes have them, too.
  class OptionsStage : public InputStage {
   public:
    OptionsStage(StagePtr input, StageOptions options)
        : InputStage(std::move(input)), options_(options) {}
    Result<Poll> Next(const Poller& poller, Element* out) override {
      return input_->Next(Poller(poller, 0, options_), out);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      return input_->Restore(Poller(poller, 0, options_), reader);
    }

   private:
    const StageOptions options_;
  };

  const StageOptions options_;
};

}  // namespace

DatasetPtr OptionsDataset(DatasetPtr input, StageOptions options) {
  return std::make_shared<WithOptions>(input, options);
}

Result<bool> PredicateOf(const Element& results) {
  if (results.size() == 1 && results[0].dtype() == DType::kBool && results[0].rank() == 0) {
    return results[0].scalar<bool>();
  }
  return InvalidArgument("Filter predicate `f` must return a scalar bool.");
}

DatasetPtr MapDataset(DatasetPtr input, ElementFunctionPtr function, ElementSpec spec,
                      const MapOptions& options) {
  return std::make_shared<Map>(std::move(input), std::move(function), std::move(spec), options);
}

DatasetPtr FilterDataset(DatasetPtr input, ElementFunctionPtr predicate) {
  return std::make_shared<Filter>(input, std::move(predicate), false);
}

DatasetPtr TakeWhileDataset(DatasetPtr input, ElementFunctionPtr predicate) {
  return std::make_shared<Filter>(input, std::move(predicate), true);
}

DatasetPtr ScanDataset(DatasetPtr input, Element initial_state, ElementFunctionPtr function,
                       ElementSpec spec, bool preserve_cardinality) {
  return std::make_shared<Scan>(std::move(input), std::move(initial_state), std::move(function),
                                std::move(spec), preserve_cardinality);
}

}  // namespace thalweg
