// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "thalweg/data/grouping.h"

namespace thalweg {
namespace {

class GroupByReducer : public DatasetOver {
 public:
  GroupByReducer(DatasetPtr input, ReducerFunctions functions, ElementSpec spec)
      : DatasetOver(std::move(spec), std::move(input)), functions_(std::move(functions)) {}
  std::string Kind() const override { return "GroupByReducer"; }
  Result<StagePtr> MakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<ReducerStage>(std::move(input), functions_));
  }

 private:
  class ReducerStage : public InputStage {
   public:
    ReducerStage(StagePtr input, const ReducerFunctions& functions)
        : InputStage(std::move(input)),
          key_call_(functions.key),
          init_call_(functions.init),
          reduce_call_(functions.reduce),
          finalize_call_(functions.finalize) {}

    Result<Poll> Next(const Poller& poller, Element* out) override {
      while (!ended_) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, Reduce(poller));
        if (poll == Poll::kPending) return poll;
      }
      if (!finalize_call_.open()) {
        if (states_.empty()) return Poll::kEnd;
        // A key that fails is not asked for again.
        finalize_call_.Begin(poller, std::move(states_.extract(states_.begin()).mapped()));
      }
      return finalize_call_.Get(poller, out);
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(ended_ ? 1 : 0);
      writer.Add(static_cast<int64_t>(states_.size()));
      for (const auto& [key, state] : states_) {
        writer.Add(key);
        writer.Add(state);
      }
      const bool open = key_call_.open() || init_call_.open() || reduce_call_.open();
      writer.Add(open ? element_ : Element());
      writer.Add(finalize_call_.open() ? 1 : 0);
      if (finalize_call_.open()) writer.Add(finalize_call_.element());
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t ended = 0, n = 0, key = 0, finalizes = 0;
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      RETURN_IF_ERROR(reader.ReadCount(&n));
      for (int64_t i = 0; i < n; ++i) {
        RETURN_IF_ERROR(reader.Read(&key));
        RETURN_IF_ERROR(reader.Read(&states_[key]));
      }
      RETURN_IF_ERROR(reader.Read(&element_));
      if (!element_.empty()) key_call_.Begin(poller, element_);
      RETURN_IF_ERROR(reader.Read(&finalizes));
      if (finalizes != 0) {
        Element state;
        RETURN_IF_ERROR(reader.Read(&state));
        finalize_call_.Begin(poller, std::move(state));
      }
      return InputStage::Restore(poller, reader);
    }

   private:
    // One element more is in the state of its key, or the input has ended. Calls are made again where
    // a state is restored: from the key on.
    Result<Poll> Reduce(const Poller& poller) {
      Element results;
      if (!key_call_.open() && !init_call_.open() && !reduce_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &element_));
        ended_ = poll == Poll::kEnd;
        if (poll != Poll::kElement) return poll;
        key_call_.Begin(poller, element_);
      }
      if (key_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, key_call_.Get(poller, &results));
        if (poll != Poll::kElement) return poll;
        ASSIGN_OR_RETURN(key_, KeyOf(results, "key_func"));
        const auto found = states_.find(key_);
        if (found == states_.end()) {
          init_call_.Begin(poller, {Tensor::Scalar(key_)});
        } else {
          Begin(poller, found->second);
        }
      }
      if (init_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, init_call_.Get(poller, &results));
        if (poll != Poll::kElement) return poll;
        Begin(poller, results);
        states_.emplace(key_, std::move(results));
        results = {};
      }
      ASSIGN_OR_RETURN(const Poll poll, reduce_call_.Get(poller, &results));
      if (poll != Poll::kElement) return poll;
      Element& state = states_[key_];
      if (results.size() != state.size()) {
        return InvalidArgument("reduce_func must give the ", state.size(),
                               " components of the next state, got ", results.size(), " values");
      }
      state = std::move(results);
      return Poll::kElement;
    }
    void Begin(const Poller& poller, Element state) {
      state.insert(state.end(), element_.begin(), element_.end());
      reduce_call_.Begin(poller, std::move(state));
    }

    CallInTurn key_call_;
    CallInTurn init_call_;
    CallInTurn reduce_call_;
    CallInTurn finalize_call_;
    Element element_;  // whose key is looked for, or that is reduced
    int64_t key_ = 0;  // its key, once it is known
    std::map<int64_t, Element> states_;
    bool ended_ = false;
  };

  const ReducerFunctions functions_;
};

}  // namespace

DatasetPtr GroupByReducerDataset(DatasetPtr input, ReducerFunctions functions, ElementSpec spec) {
  return std::make_shared<GroupByReducer>(std::move(input), std::move(functions), std::move(spec));
}

}  // namespace thalweg
