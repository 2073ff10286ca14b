// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "thalweg/data/counting.h"
#include "thalweg/data/state.h"

namespace thalweg {
namespace {

class Concatenate : public Dataset {
 public:
  Concatenate(DatasetPtr first, DatasetPtr second, ElementSpec spec)
      : Dataset(std::move(spec), {first, second}), parts_{std::move(first), std::move(second)} {}
  std::string Kind() const override { return "Concatenate"; }
  int64_t Cardinality() const override {
    const int64_t a = parts_[0]->Cardinality(), b = parts_[1]->Cardinality();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    return a == kUnknown || b == kUnknown ? kUnknown : a + b;
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr first, parts_[0]->MakeStage(pipeline));
    return StagePtr(std::make_unique<ConcatenateStage>(std::move(first), parts_[1]));
  }

 private:
  class ConcatenateStage : public Stage {
   public:
    ConcatenateStage(StagePtr first, DatasetPtr second)
        : stage_(std::move(first)), second_(std::move(second)) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      ASSIGN_OR_RETURN(const Poll poll, stage_->Next(poller, out));
      if (poll != Poll::kEnd || in_second_) return poll;
      RETURN_IF_ERROR(Advance(poller));
      return stage_->Next(poller, out);
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(in_second_ ? 1 : 0);
      return stage_->Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t in_second = 0;
      RETURN_IF_ERROR(reader.Read(&in_second));
      if (in_second != 0) RETURN_IF_ERROR(Advance(poller));
      return stage_->Restore(poller, reader);
    }

   private:
    Status Advance(const Poller& poller) {
      ASSIGN_OR_RETURN(stage_, second_->MakeStage(poller.scope()));
      in_second_ = true;
      return OkStatus();
    }
    StagePtr stage_;
    const DatasetPtr second_;
    bool in_second_ = false;
  };
  const DatasetPtr parts_[2];
};

class Zip : public Dataset {
 public:
  Zip(std::vector<DatasetPtr> inputs, ElementSpec spec)
      : Dataset(std::move(spec), inputs), inputs_(std::move(inputs)) {}
  std::string Kind() const override { return "Zip"; }
  int64_t Cardinality() const override {
    int64_t least = kInfinite;
    for (const DatasetPtr& input : inputs_) {
      const int64_t n = input->Cardinality();
      if (n == kUnknown) return kUnknown;
      if (n != kInfinite) least = least == kInfinite ? n : std::min(least, n);
    }
    return least;
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    std::vector<StagePtr> stages;
    for (const DatasetPtr& input : inputs_) {
      ASSIGN_OR_RETURN(StagePtr stage, input->MakeStage(pipeline));
      stages.push_back(std::move(stage));
    }
    return StagePtr(std::make_unique<ZipStage>(std::move(stages)));
  }

 private:
  class ZipStage : public Stage {
   public:
    explicit ZipStage(std::vector<StagePtr> inputs)
        : inputs_(std::move(inputs)), parts_(inputs_.size()) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      // Goes on with the input that had none yet.
      for (; at_ < inputs_.size(); ++at_) {
        Result<Poll> poll = inputs_[at_]->Next(poller, &parts_[at_]);
        if (!poll.ok() || *poll == Poll::kEnd) {
          if (poller.Look().ok()) at_ = 0;
          return poll;
        }
        if (*poll == Poll::kPending) return poll;
      }
      at_ = 0;
      out->clear();
      for (Element& part : parts_) {
        std::move(part.begin(), part.end(), std::back_inserter(*out));
      }
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(static_cast<int64_t>(at_));
      for (size_t i = 0; i < at_; ++i) writer.Add(parts_[i]);
      for (const StagePtr& input : inputs_) {
        ASSIGN_OR_RETURN(const Poll poll, input->Save(poller, writer));
        if (poll != Poll::kElement) return poll;
      }
      return Poll::kElement;
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t at = 0;
      RETURN_IF_ERROR(reader.Read(&at));
      if (at < 0 || at > static_cast<int64_t>(inputs_.size())) {
        return InvalidArgument("the state of the iterator is none of this dataset");
      }
      at_ = static_cast<size_t>(at);
      for (size_t i = 0; i < at_; ++i) RETURN_IF_ERROR(reader.Read(&parts_[i]));
      for (const StagePtr& input : inputs_) RETURN_IF_ERROR(input->Restore(poller, reader));
      return OkStatus();
    }

   private:
    const std::vector<StagePtr> inputs_;
    std::vector<Element> parts_;  // of the element that is put together, of inputs before at_
    size_t at_ = 0;
  };
  const std::vector<DatasetPtr> inputs_;
};

}  // namespace

DatasetPtr ConcatenateDataset(DatasetPtr first, DatasetPtr second, ElementSpec spec) {
  return std::make_shared<Concatenate>(std::move(first), std::move(second), std::move(spec));
}

DatasetPtr ZipDataset(std::vector<DatasetPtr> inputs, ElementSpec spec) {
  return std::make_shared<Zip>(std::move(inputs), std::move(spec));
}

}  // namespace thalweg
