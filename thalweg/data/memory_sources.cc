// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/memory_sources.h"

#include <utility>

#include "thalweg/data/random_stream.h"
#include "thalweg/data/state.h"
#include "thalweg/resources/batch_rows.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// A stage whose place is one number.
class CountedStage : public Stage {
 public:
  Result<Poll> Save(const Poller&, StateWriter& writer) override {
    writer.Add(at_);
    return Poll::kElement;
  }
  Status Restore(const Poller&, StateReader& reader) override {
    RETURN_IF_ERROR(reader.Read(&at_));
    return at_ >= 0 ? OkStatus() : InvalidArgument("the state of the iterator is negative: ", at_);
  }

 protected:
  int64_t at_ = 0;
};

class OneElement : public Dataset {
 public:
  OneElement(Element element, ElementSpec spec)
      : Dataset(std::move(spec)), element_(std::move(element)) {}
  std::string Kind() const override { return "Tensor"; }
  int64_t Cardinality() const override { return 1; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<OneStage>(element_, shared_from_this()));
  }

 private:
  class OneStage : public CountedStage {
   public:
    OneStage(const Element& element, DatasetPtr owner)
        : element_(element), owner_(std::move(owner)) {}
    Result<Poll> DoNext(const Poller&, Element* out) override {
      if (at_ > 0) return Poll::kEnd;
      at_ = 1;
      *out = element_;
      return Poll::kElement;
    }

   private:
    const Element& element_;
    const DatasetPtr owner_;
  };

  const Element element_;
};

class Slices : public Dataset {
 public:
  Slices(Element tensors, int64_t rows, ElementSpec spec)
      : Dataset(std::move(spec)), tensors_(std::move(tensors)), rows_(rows) {}
  std::string Kind() const override { return "TensorSlice"; }
  int64_t Cardinality() const override { return rows_; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<SliceStage>(tensors_, rows_, shared_from_this()));
  }

 private:
  class SliceStage : public CountedStage {
   public:
    SliceStage(const Element& tensors, int64_t rows, DatasetPtr owner)
        : tensors_(tensors), rows_(rows), owner_(std::move(owner)) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (at_ >= rows_) return Poll::kEnd;
      out->resize(tensors_.size());
      const int64_t row = at_++;
      for (size_t i = 0; i < tensors_.size(); ++i) {
        ASSIGN_OR_RETURN((*out)[i], RowOf(poller.allocator(), tensors_[i], row));
      }
      return Poll::kElement;
    }

   private:
    const Element& tensors_;
    const int64_t rows_;
    const DatasetPtr owner_;
  };

  const Element tensors_;
  const int64_t rows_;
};

class Range : public Dataset {
 public:
  Range(int64_t start, int64_t step, int64_t count, bool is_endless, ElementSpec spec)
      : Dataset(std::move(spec)),
        start_(start),
        step_(step),
        count_(count),
        is_endless_(is_endless) {}
  std::string Kind() const override { return "Range"; }
  int64_t Cardinality() const override { return is_endless_ ? kInfinite : count_; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<RangeStage>(*this, shared_from_this()));
  }

 private:
  class RangeStage : public CountedStage {
   public:
    RangeStage(const Range& range, DatasetPtr owner) : range_(range), owner_(std::move(owner)) {}
    Result<Poll> DoNext(const Poller&, Element* out) override {
      if (at_ >= range_.count_) return Poll::kEnd;
      const auto value =
          static_cast<int64_t>(static_cast<uint64_t>(range_.start_) +
                               static_cast<uint64_t>(at_++) * static_cast<uint64_t>(range_.step_));
      out->resize(1);
      ASSIGN_OR_RETURN((*out)[0], ScalarOf(range_.spec().types[0], value));
      return Poll::kElement;
    }

   private:
    static Result<Tensor> ScalarOf(DType dtype, int64_t value) {
      switch (dtype) {
        case DType::kInt64:
          return Tensor::Scalar(value);
        case DType::kInt32:
          return Tensor::Scalar(static_cast<int32_t>(value));
        case DType::kFloat:
          return Tensor::Scalar(static_cast<float>(value));
        case DType::kDouble:
          return Tensor::Scalar(static_cast<double>(value));
        default:
          return Unimplemented("a range of ", dtype, ": there are int32, int64, float and double");
      }
    }

    const Range& range_;
    const DatasetPtr owner_;
  };

  const int64_t start_;
  const int64_t step_;
  const int64_t count_;
  const bool is_endless_;
};

class Random : public Dataset {
 public:
  Random(uint64_t seed, uint64_t seed2, ElementSpec spec)
      : Dataset(std::move(spec)), seed_(seed), seed2_(seed2) {}
  std::string Kind() const override { return "Random"; }
  int64_t Cardinality() const override { return kInfinite; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<RandomStage>(seed_, seed2_));
  }

 private:
  class RandomStage : public Stage {
   public:
    RandomStage(uint64_t seed, uint64_t seed2) : stream_(seed, seed2) {}
    Result<Poll> DoNext(const Poller&, Element* out) override {
      out->assign(1, Tensor::Scalar(static_cast<int64_t>(stream_.Next())));
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller&, StateWriter& writer) override {
      writer.Add(stream_.drawn());
      return Poll::kElement;
    }
    Status Restore(const Poller&, StateReader& reader) override {
      int64_t drawn = 0;
      RETURN_IF_ERROR(reader.Read(&drawn));
      stream_.Skip(drawn);
      return OkStatus();
    }

   private:
    RandomStream stream_;
  };

  const uint64_t seed_;
  const uint64_t seed2_;
};

}  // namespace

DatasetPtr OneElementDataset(Element element, ElementSpec spec) {
  return std::make_shared<OneElement>(std::move(element), std::move(spec));
}

Result<DatasetPtr> SliceDataset(Element tensors, ElementSpec spec) {
  if (tensors.empty()) return InvalidArgument("slices need at least one tensor");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].rank() == 0) {
      return InvalidArgument("component ", i, " is a scalar: all must have a dimension to slice");
    }
    if (tensors[i].dim(0) != tensors[0].dim(0)) {
      return InvalidArgument("component ", i, " has ", tensors[i].dim(0), " rows, component 0 has ",
                             tensors[0].dim(0));
    }
  }
  const int64_t rows = tensors[0].dim(0);
  return DatasetPtr(std::make_shared<Slices>(std::move(tensors), rows, std::move(spec)));
}

Result<DatasetPtr> RangeDataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec) {
  if (step == 0) return InvalidArgument("step must be a non-zero integer.");
  // Unsigned, since stop - start may be beyond int64.
  const bool up = step > 0;
  const uint64_t width = up ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                            : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t each = up ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const bool none = up ? start >= stop : start <= stop;
  const uint64_t count = none ? 0 : (width - 1) / each + 1;
  if (count > static_cast<uint64_t>(INT64_MAX)) {
    return InvalidArgument("a range of ", count, " elements is too long");
  }
  // A stop as far as there are numbers means none, as TensorFlow has it.
  const bool is_endless = !none && stop == (up ? INT64_MAX : INT64_MIN);
  return DatasetPtr(std::make_shared<Range>(start, step, static_cast<int64_t>(count), is_endless,
                                            std::move(spec)));
}

DatasetPtr RandomDataset(uint64_t seed, uint64_t seed2, ElementSpec spec) {
  return std::make_shared<Random>(seed, seed2, std::move(spec));
}

}  // namespace thalweg
