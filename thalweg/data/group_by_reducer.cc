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
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
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

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (!ended_) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, Reduce(poller));
        if (poll == Poll::kPending) return poll;
      }
      if (!finalize_call_.open()) {
        if (states_.empty()) return Poll::kEnd;
        // A key that fails is not asked for again.
        finalize_call_.Begin(poller, TakeFirst());
      }
      return finalize_call_.Get(poller, out);
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(ended_ ? 1 : 0);
      writer.Add(static_cast<int64_t>(states_.size()));
      for (const auto& [key, state] : states_) {
        writer.Add(key);
        writer.Add(state.values);
      }
      const bool open = key_call_.open() || init_call_.open() || reduce_call_.open();
      writer.Add(open ? element_ : Element());
      finalize_call_.Save(writer);
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t ended = 0, n = 0, key = 0;
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      RETURN_IF_ERROR(reader.ReadCount(&n));
      for (int64_t i = 0; i < n; ++i) {
        RETURN_IF_ERROR(reader.Read(&key));
        Element values;
        RETURN_IF_ERROR(reader.Read(&values));
        RETURN_IF_ERROR(Keep(poller, key, std::move(values)));
      }
      RETURN_IF_ERROR(reader.Read(&element_));
      if (!element_.empty()) key_call_.Begin(poller, Element(element_));
      RETURN_IF_ERROR(finalize_call_.Restore(poller, reader));
      return InputStage::Restore(poller, reader);
    }

   private:
    // One element more is in the state of its key, or the input has ended. Calls are made again
    // where a state is restored: from the key on.
    Result<Poll> Reduce(const Poller& poller) {
      Element results;
      if (!key_call_.open() && !init_call_.open() && !reduce_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &element_));
        ended_ = poll == Poll::kEnd;
        if (poll != Poll::kElement) return poll;
        key_call_.Begin(poller, Element(element_));
      }
      if (key_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, key_call_.Get(poller, &results));
        if (poll != Poll::kElement) return poll;
        ASSIGN_OR_RETURN(key_, KeyOf(results, "key_func"));
        const auto found = states_.find(key_);
        if (found == states_.end()) {
          init_call_.Begin(poller, {Tensor::Scalar(key_)});
        } else {
          Begin(poller, found->second.values);
        }
      }
      if (init_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, init_call_.Get(poller, &results));
        if (poll != Poll::kElement) return poll;
        Begin(poller, results);
        RETURN_IF_ERROR(Keep(poller, key_, std::exchange(results, {})));
      }
      ASSIGN_OR_RETURN(const Poll poll, reduce_call_.Get(poller, &results));
      if (poll != Poll::kElement) return poll;
      const size_t width = states_[key_].values.size();
      if (results.size() != width) {
        return InvalidArgument("reduce_func must give the ", width,
                               " components of the next state, got ", results.size(), " values");
      }
      RETURN_IF_ERROR(Keep(poller, key_, std::move(results)));
      return Poll::kElement;
    }
    void Begin(const Poller& poller, Element state) {
      state.insert(state.end(), element_.begin(), element_.end());
      reduce_call_.Begin(poller, std::move(state));
    }

    struct State {
      Element values;
      size_t bytes = 0;  // that are charged
    };

    Status Keep(const Poller& poller, int64_t key, Element values) {
      const size_t bytes = KeptBytes(values);
      Status charged = ChargeTexts(poller.allocator(), values);
      if (charged.ok()) charged = charge_.Add(poller.allocator(), bytes);
      if (!charged.ok()) {
        return charged.WithContext(StrCat("the state of key ", key,
                                          " of a GroupByReducer stage, which keeps those of ",
                                          states_.size(), " keys"));
      }
      State& state = states_[key];
      charge_.Remove(state.bytes);
      state = {std::move(values), bytes};
      return OkStatus();
    }
    Element TakeFirst() {
      State state = std::move(states_.extract(states_.begin()).mapped());
      charge_.Remove(state.bytes);
      return std::move(state.values);
    }

    CallInTurn key_call_;
    CallInTurn init_call_;
    CallInTurn reduce_call_;
    CallInTurn finalize_call_;
    Element element_;  // whose key is looked for, or that is reduced
    int64_t key_ = 0;  // its key, once it is known
    std::map<int64_t, State> states_;
    SteppedCharge charge_;  // of states_
    bool ended_ = false;
  };

  const ReducerFunctions functions_;
};

}  // namespace

DatasetPtr GroupByReducerDataset(DatasetPtr input, ReducerFunctions functions, ElementSpec spec) {
  return std::make_shared<GroupByReducer>(std::move(input), std::move(functions), std::move(spec));
}

}  // namespace thalweg
