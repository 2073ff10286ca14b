// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/mapping.h"

#include <utility>

namespace thalweg {
namespace {

class Filter : public DatasetOver {
 public:
  Filter(const DatasetPtr& input, ElementFunctionPtr predicate, bool stops)
      : DatasetOver(input), predicate_(std::move(predicate)), stops_(stops) {}
  std::string Kind() const override { return stops_ ? "TakeWhile" : "Filter"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<FilterStage>(std::move(input), predicate_, stops_));
  }

 private:
  class FilterStage : public InputStage {
   public:
    FilterStage(StagePtr input, ElementFunctionPtr predicate, bool stops)
        : InputStage(std::move(input)), call_(std::move(predicate)), stops_(stops) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
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
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<ScanStage>(std::move(input), initial_, function_));
  }

 private:
  class ScanStage : public InputStage {
   public:
    ScanStage(StagePtr input, Element state, ElementFunctionPtr function)
        : InputStage(std::move(input)), state_(std::move(state)), call_(std::move(function)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
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
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
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
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
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
