// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/generator.h"

#include <utility>

namespace thalweg {
namespace {

class Generator : public Dataset {
 public:
  Generator(GeneratorFunctions functions, ElementSpec spec)
      : Dataset(std::move(spec)), functions_(std::move(functions)) {}
  std::string Kind() const override { return "Generator"; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<GeneratorStage>(functions_));
  }

 private:
  class GeneratorStage : public Stage {
   public:
    explicit GeneratorStage(const GeneratorFunctions& functions)
        : begin_(functions.begin), next_(functions.next), end_(functions.end) {}
    ~GeneratorStage() override {
      if (is_open_ && !is_over_) End();
    }

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (is_over_) return Poll::kEnd;
      if (!is_open_) {
        if (!begin_.open()) begin_.Begin(poller, {});
        Result<Poll> poll = begin_.Get(poller, &state_);
        is_over_ = !poll.ok();  // who cannot begin gives no element, however often he is asked
        if (!poll.ok() || *poll != Poll::kElement) return poll;
        is_open_ = true;
      }
      if (!next_.open()) next_.Begin(poller, Element(state_));
      Result<Poll> poll = next_.Get(poller, out);
      if (!poll.ok() && poll.status().code() == Code::kOutOfRange) {
        End();
        return Poll::kEnd;
      }
      return poll;
    }

    Result<Poll> Save(const Poller&, StateWriter&) override { return NotSaved(); }
    Status Restore(const Poller&, StateReader&) override { return NotSaved(); }

   private:
    Status NotSaved() const {
      const std::string of = end_->stage.empty() ? "" : StrCat(", ", end_->stage);
      const std::string at = end_->site.empty() ? "" : StrCat(" (created at ", end_->site, ")");
      return FailedPrecondition("an iterator over a generator", of,
                                ", cannot be saved: its place is the generator's own", at);
    }
    // Nobody waits for it, and its results are of no use. It is called also where the iterator was
    // cancelled, and may be asked for when the session and its threads are gone: that is the
    // function's to know.
    void End() {
      is_over_ = true;
      Element arguments = state_;
      arguments.insert(arguments.end(), end_->captured.begin(), end_->captured.end());
      auto cancellation = std::make_shared<CancellationManager>();
      CancellationManager* const own = cancellation.get();
      end_->function->Start(
          std::move(arguments), own,
          [cancellation = std::move(cancellation), end = end_](const Result<Element>&) {});
    }

    CallInTurn begin_;
    CallInTurn next_;
    const ElementFunctionPtr end_;
    Element state_;
    bool is_open_ = false;
    bool is_over_ = false;
  };

  const GeneratorFunctions functions_;
};

}  // namespace

DatasetPtr GeneratorDataset(GeneratorFunctions functions, ElementSpec spec) {
  return std::make_shared<Generator>(std::move(functions), std::move(spec));
}

}  // namespace thalweg
