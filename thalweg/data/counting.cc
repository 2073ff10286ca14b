// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/counting.h"

#include <algorithm>
#include <utility>

#include "thalweg/data/input_stage.h"
#include "thalweg/resources/batch_rows.h"

namespace thalweg {
namespace {

// Counts the elements that it has given or passed by.
class CountingStage : public InputStage {
 public:
  using InputStage::InputStage;
  Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
    writer.Add(at_);
    return InputStage::Save(poller, writer);
  }
  Status Restore(const Poller& poller, StateReader& reader) override {
    RETURN_IF_ERROR(reader.Read(&at_));
    return InputStage::Restore(poller, reader);
  }

 protected:
  int64_t at_ = 0;
};

class Take : public DatasetOver {
 public:
  Take(const DatasetPtr& input, int64_t count) : DatasetOver(input), count_(count) {}
  std::string Kind() const override { return "Take"; }
  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    if (n == kUnknown || count_ < 0) return n;
    return n == kInfinite ? count_ : std::min(n, count_);
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    if (count_ < 0) return input;
    return StagePtr(std::make_unique<TakeStage>(std::move(input), count_));
  }

 private:
  class TakeStage : public CountingStage {
   public:
    TakeStage(StagePtr input, int64_t count) : CountingStage(std::move(input)), count_(count) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (at_ >= count_) return Poll::kEnd;
      ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
      if (poll == Poll::kElement) ++at_;
      return poll;
    }

   private:
    const int64_t count_;
  };
  const int64_t count_;
};

class Skip : public DatasetOver {
 public:
  Skip(const DatasetPtr& input, int64_t count) : DatasetOver(input), count_(count) {}
  std::string Kind() const override { return "Skip"; }
  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    if (n == kInfinite) return n;
    if (count_ < 0) return 0;
    return n < 0 ? n : std::max<int64_t>(n - count_, 0);
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<SkipStage>(std::move(input), count_));
  }

 private:
  class SkipStage : public CountingStage {
   public:
    SkipStage(StagePtr input, int64_t count) : CountingStage(std::move(input)), count_(count) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (count_ < 0) return Poll::kEnd;
      for (; at_ < count_; ++at_) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
        if (poll != Poll::kElement) return poll;
      }
      return input_->Next(poller, out);
    }

   private:
    const int64_t count_;
  };
  const int64_t count_;
};

class Repeat : public DatasetOver {
 public:
  Repeat(const DatasetPtr& input, int64_t count) : DatasetOver(input), count_(count) {}
  std::string Kind() const override { return "Repeat"; }
  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    if (count_ == 0 || n == 0) return 0;
    if (count_ < 0) return kInfinite;
    int64_t all = 0;
    if (n < 0) return n;
    return __builtin_mul_overflow(n, count_, &all) ? kInfinite : all;
  }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<RepeatStage>(input_, count_));
  }

 private:
  class RepeatStage : public Stage {
   public:
    RepeatStage(DatasetPtr input, int64_t count) : input_(std::move(input)), count_(count) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (count_ < 0 || round_ < count_) {
        RETURN_IF_ERROR(poller.Look());
        if (stage_ == nullptr) {
          ASSIGN_OR_RETURN(stage_, input_->MakeStage(poller.scope()));
          any_ = false;
        }
        ASSIGN_OR_RETURN(const Poll poll, stage_->Next(poller, out));
        if (poll == Poll::kElement) any_ = true;
        if (poll != Poll::kEnd) return poll;
        // Nothing without end is nothing.
        if (count_ < 0 && !any_) return Poll::kEnd;
        stage_ = nullptr;
        ++round_;
      }
      return Poll::kEnd;
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(round_);
      writer.Add(stage_ == nullptr ? 0 : any_ ? 2 : 1);
      return stage_ == nullptr ? Poll::kElement : stage_->Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t open = 0;
      RETURN_IF_ERROR(reader.Read(&round_));
      RETURN_IF_ERROR(reader.Read(&open));
      if (open == 0) return OkStatus();
      ASSIGN_OR_RETURN(stage_, input_->MakeStage(poller.scope()));
      any_ = open == 2;
      return stage_->Restore(poller, reader);
    }

   private:
    const DatasetPtr input_;
    const int64_t count_;
    StagePtr stage_;  // of this round; null: it has not begun
    bool any_ = false;
    int64_t round_ = 0;
  };
  const int64_t count_;
};

class Shard : public DatasetOver {
 public:
  Shard(const DatasetPtr& input, int64_t shards, int64_t index)
      : DatasetOver(input), shards_(shards), index_(index) {}
  std::string Kind() const override { return "Shard"; }
  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    return n < 0 ? n : n / shards_ + (index_ < n % shards_ ? 1 : 0);
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<ShardStage>(std::move(input), shards_, index_));
  }

 private:
  class ShardStage : public CountingStage {
   public:
    ShardStage(StagePtr input, int64_t shards, int64_t index)
        : CountingStage(std::move(input)), shards_(shards), index_(index) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (true) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
        if (poll != Poll::kElement) return poll;
        if (at_++ % shards_ == index_) return poll;
      }
    }

   private:
    const int64_t shards_;
    const int64_t index_;
  };
  const int64_t shards_;
  const int64_t index_;
};

class AssertCardinality : public DatasetOver {
 public:
  AssertCardinality(const DatasetPtr& input, int64_t cardinality)
      : DatasetOver(input), cardinality_(cardinality) {}
  std::string Kind() const override { return "AssertCardinality"; }
  int64_t Cardinality() const override { return cardinality_; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<AssertStage>(std::move(input), cardinality_));
  }

 private:
  class AssertStage : public CountingStage {
   public:
    AssertStage(StagePtr input, int64_t expected)
        : CountingStage(std::move(input)), expected_(expected) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
      if (poll == Poll::kElement) ++at_;
      if (expected_ == kUnknown || poll == Poll::kPending) return poll;
      if (poll == Poll::kEnd && at_ != expected_) {
        // Said once: whoever ignores errors finds the end behind it.
        const int64_t found = std::exchange(at_, expected_);
        return FailedPrecondition(Expected(), " but contained ", Counted(found), ".");
      }
      if (expected_ >= 0 && at_ > expected_) {
        return FailedPrecondition(Expected(), " but contained at least ", Counted(at_), ".");
      }
      return poll;
    }

   private:
    static std::string Counted(int64_t n) { return StrCat(n, n == 1 ? " element" : " elements"); }
    std::string Expected() const {
      return StrCat("Input dataset was expected to contain ",
                    expected_ == kInfinite ? "an infinite number of elements" : Counted(expected_));
    }
    const int64_t expected_;
  };
  const int64_t cardinality_;
};

class IgnoreErrors : public DatasetOver {
 public:
  explicit IgnoreErrors(const DatasetPtr& input) : DatasetOver(input) {}
  std::string Kind() const override { return "IgnoreErrors"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<IgnoreStage>(std::move(input)));
  }

 private:
  class IgnoreStage : public InputStage {
   public:
    using InputStage::InputStage;
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (true) {
        Result<Poll> poll = input_->Next(poller, out);
        if (poll.ok()) return poll;
        RETURN_IF_ERROR(poller.Look());
      }
    }
  };
};

class Unbatch : public DatasetOver {
 public:
  Unbatch(ElementSpec spec, DatasetPtr input) : DatasetOver(std::move(spec), std::move(input)) {}
  std::string Kind() const override { return "Unbatch"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<UnbatchStage>(std::move(input)));
  }

 private:
  class UnbatchStage : public InputStage {
   public:
    using InputStage::InputStage;
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (row_ >= rows_) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &batch_));
        if (poll != Poll::kElement) return poll;
        row_ = 0;
        RETURN_IF_ERROR(CountRows());
      }
      out->resize(batch_.size());
      const int64_t row = row_++;
      for (size_t i = 0; i < batch_.size(); ++i) {
        ASSIGN_OR_RETURN((*out)[i], RowOf(poller.allocator(), batch_[i], row));
      }
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(row_);
      writer.Add(row_ < rows_ ? batch_ : Element());
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      RETURN_IF_ERROR(reader.Read(&row_));
      RETURN_IF_ERROR(reader.Read(&batch_));
      rows_ = 0;
      if (!batch_.empty()) RETURN_IF_ERROR(CountRows());
      if (row_ < 0) return InvalidArgument("the state of the iterator is negative: ", row_);
      return InputStage::Restore(poller, reader);
    }

   private:
    Status CountRows() {
      rows_ = 0;
      for (const Tensor& tensor : batch_) {
        if (tensor.rank() == 0) {
          return InvalidArgument("Input element must have at least one dimension to be unbatched");
        }
        if (tensor.dim(0) != batch_[0].dim(0)) {
          return InvalidArgument(
              "Input element must have the same batch size in each component, got ",
              batch_[0].dim(0), " and ", tensor.dim(0));
        }
      }
      rows_ = batch_.empty() ? 0 : batch_[0].dim(0);
      return OkStatus();
    }

    Element batch_;
    int64_t row_ = 0;
    int64_t rows_ = 0;
  };
};

}  // namespace

DatasetPtr TakeDataset(DatasetPtr input, int64_t count) {
  return std::make_shared<Take>(input, count);
}

DatasetPtr SkipDataset(DatasetPtr input, int64_t count) {
  return std::make_shared<Skip>(input, count);
}

DatasetPtr RepeatDataset(DatasetPtr input, int64_t count) {
  return std::make_shared<Repeat>(input, count);
}

Result<DatasetPtr> ShardDataset(DatasetPtr input, int64_t shards, int64_t index) {
  if (shards <= 0) {
    return InvalidArgument(
        "Number of shards must be greater than zero (currently num_shards = ", shards, ").");
  }
  if (index < 0 || index >= shards) {
    return InvalidArgument("Index must be between 0 and ", shards - 1,
                           " (currently index = ", index, ").");
  }
  return DatasetPtr(std::make_shared<Shard>(input, shards, index));
}

DatasetPtr AssertCardinalityDataset(DatasetPtr input, int64_t cardinality) {
  return std::make_shared<AssertCardinality>(input, cardinality);
}

DatasetPtr IgnoreErrorsDataset(DatasetPtr input) { return std::make_shared<IgnoreErrors>(input); }

DatasetPtr UnbatchDataset(DatasetPtr input, ElementSpec spec) {
  return std::make_shared<Unbatch>(std::move(spec), std::move(input));
}

}  // namespace thalweg
