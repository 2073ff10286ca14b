// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "thalweg/data/choosing.h"
#include "thalweg/data/state.h"

namespace thalweg {
namespace {

class DirectedInterleave : public Dataset {
 public:
  DirectedInterleave(DatasetPtr selector, std::vector<DatasetPtr> inputs, bool stops,
                     ElementSpec spec)
      : Dataset(std::move(spec), WithSelector(selector, inputs)),
        selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        stops_(stops) {}
  std::string Kind() const override { return "DirectedInterleave"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr selector, selector_->MakeStage(pipeline));
    std::vector<StagePtr> stages;
    for (const DatasetPtr& input : inputs_) {
      ASSIGN_OR_RETURN(StagePtr stage, input->MakeStage(pipeline));
      stages.push_back(std::move(stage));
    }
    return StagePtr(
        std::make_unique<DirectedStage>(std::move(selector), std::move(stages), stops_));
  }

 private:
  static std::vector<DatasetPtr> WithSelector(const DatasetPtr& selector,
                                              std::vector<DatasetPtr> inputs) {
    inputs.push_back(selector);
    return inputs;
  }

  class DirectedStage : public Stage {
   public:
    DirectedStage(StagePtr selector, std::vector<StagePtr> inputs, bool stops)
        : selector_(std::move(selector)),
          inputs_(std::move(inputs)),
          open_(inputs_.size(), true),
          stops_(stops) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (std::find(open_.begin(), open_.end(), true) != open_.end()) {
        RETURN_IF_ERROR(poller.Look());
        if (chosen_ < 0) {
          ASSIGN_OR_RETURN(const Poll poll, Choose(poller));
          if (poll != Poll::kElement) return poll;
        }
        const auto at = static_cast<size_t>(chosen_);
        if (open_[at]) {
          Result<Poll> poll = inputs_[at]->Next(poller, out);
          if (poll.ok() && *poll == Poll::kPending) return poll;
          if (!poll.ok() || *poll == Poll::kElement) {
            if (poller.Look().ok() || poll.ok()) chosen_ = -1;
            return poll;
          }
          open_[at] = false;
        }
        chosen_ = -1;
        if (stops_) open_.assign(open_.size(), false);
      }
      return Poll::kEnd;
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(chosen_);
      for (const bool open : open_) writer.Add(open ? 1 : 0);
      for (const StagePtr& input : inputs_) {
        ASSIGN_OR_RETURN(const Poll poll, input->Save(poller, writer));
        if (poll != Poll::kElement) return poll;
      }
      return selector_->Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      RETURN_IF_ERROR(reader.Read(&chosen_));
      if (chosen_ < -1 || chosen_ >= static_cast<int64_t>(inputs_.size())) {
        return InvalidArgument("the state of the iterator is none of this dataset");
      }
      for (size_t i = 0; i < open_.size(); ++i) {
        int64_t open = 0;
        RETURN_IF_ERROR(reader.Read(&open));
        open_[i] = open != 0;
      }
      for (const StagePtr& input : inputs_) RETURN_IF_ERROR(input->Restore(poller, reader));
      return selector_->Restore(poller, reader);
    }

   private:
    Result<Poll> Choose(const Poller& poller) {
      Element selected;
      ASSIGN_OR_RETURN(const Poll poll, selector_->Next(poller, &selected));
      if (poll != Poll::kElement) return poll;
      if (selected.size() != 1 || selected[0].dtype() != DType::kInt64 || selected[0].rank() != 0) {
        return InvalidArgument("the selector of datasets must give scalar int64s");
      }
      const int64_t number = selected[0].scalar<int64_t>();
      if (number < 0 || number >= static_cast<int64_t>(inputs_.size())) {
        return InvalidArgument("Selector index out of range: ", number, " >= ", inputs_.size());
      }
      chosen_ = number;
      return poll;
    }

    const StagePtr selector_;
    const std::vector<StagePtr> inputs_;
    std::vector<bool> open_;  // those that have not ended
    const bool stops_;
    int64_t chosen_ = -1;  // whose element is next; -1: the selector has not said
  };

  const DatasetPtr selector_;
  const std::vector<DatasetPtr> inputs_;
  const bool stops_;
};

}  // namespace

Result<DatasetPtr> DirectedInterleaveDataset(DatasetPtr selector, std::vector<DatasetPtr> inputs,
                                             bool stops, ElementSpec spec) {
  const ElementSpec numbers = {{DType::kInt64}, {PartialShape(Shape())}};
  RETURN_IF_ERROR(numbers.Admits(selector->spec()).WithContext("the selector of datasets"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(spec.Admits(inputs[i]->spec()).WithContext(StrCat("dataset ", i)));
  }
  return DatasetPtr(std::make_shared<DirectedInterleave>(std::move(selector), std::move(inputs),
                                                         stops, std::move(spec)));
}

}  // namespace thalweg
