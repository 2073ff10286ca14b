// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/choosing.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/data/input_stage.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/data/random_stream.h"

namespace thalweg {
namespace {

// The numbers or strings of a tensor.
template <class F>
auto Visit(const Tensor& tensor, F&& f) {
  if (tensor.dtype() == DType::kString) return f(tensor.flat<std::string>());
  if (tensor.dtype() == DType::kInt32) return f(tensor.flat<int32_t>());
  return f(tensor.flat<int64_t>());
}

struct TensorHash {
  size_t operator()(const Tensor& tensor) const {
    return Visit(tensor, [](auto values) {
      size_t hash = 0;
      for (const auto& value : values) {
        using T = std::decay_t<decltype(value)>;
        hash = hash * 0x9E3779B97F4A7C15u + std::hash<T>()(value);
      }
      return hash;
    });
  }
};

struct TensorEqual {
  bool operator()(const Tensor& a, const Tensor& b) const {
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
    return Visit(a, [&b](auto values) {
      using T = std::remove_const_t<typename decltype(values)::element_type>;
      return std::equal(values.begin(), values.end(), b.flat<T>().begin());
    });
  }
};

class Unique : public DatasetOver {
 public:
  using DatasetOver::DatasetOver;
  std::string Kind() const override { return "Unique"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<UniqueStage>(std::move(input), spec(), shared_from_this()));
  }

 private:
  class UniqueStage : public InputStage {
   public:
    UniqueStage(StagePtr input, const ElementSpec& spec, DatasetPtr owner)
        : InputStage(std::move(input)), spec_(spec), owner_(std::move(owner)) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (true) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
        if (poll == Poll::kEnd) Forget();
        if (poll != Poll::kElement) return poll;
        RETURN_IF_ERROR(spec_.Check(*out));
        if (seen_.contains((*out)[0])) continue;
        RETURN_IF_ERROR(See(poller, *out));
        return poll;
      }
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(Element(seen_.begin(), seen_.end()));
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      Element seen;
      RETURN_IF_ERROR(reader.Read(&seen));
      for (Tensor& tensor : seen) {
        const Element element = {std::move(tensor)};
        RETURN_IF_ERROR(spec_.Check(element));
        RETURN_IF_ERROR(See(poller, element));
      }
      return InputStage::Restore(poller, reader);
    }

   private:
    void Forget() {
      seen_.clear();
      charge_.Remove(charge_.bytes());
    }
    Status See(const Poller& poller, const Element& element) {
      Status charged = ChargeTexts(poller.allocator(), element);
      if (charged.ok()) charged = charge_.Add(poller.allocator(), KeptBytes(element));
      if (!charged.ok()) {
        return charged.WithContext(
            StrCat("one element more for a Unique stage, which keeps ", seen_.size(), " elements"));
      }
      seen_.insert(element[0]);
      return OkStatus();
    }

    const ElementSpec& spec_;
    const DatasetPtr owner_;
    std::unordered_set<Tensor, TensorHash, TensorEqual> seen_;
    SteppedCharge charge_;  // of seen_
  };
};

class Sampling : public DatasetOver {
 public:
  Sampling(const DatasetPtr& input, float rate, uint64_t seed, uint64_t seed2)
      : DatasetOver(input), rate_(rate), seed_(seed), seed2_(seed2) {}
  std::string Kind() const override { return "Sampling"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<SamplingStage>(std::move(input), rate_, seed_, seed2_));
  }

 private:
  class SamplingStage : public InputStage {
   public:
    SamplingStage(StagePtr input, float rate, uint64_t seed, uint64_t seed2)
        : InputStage(std::move(input)), rate_(rate), stream_(seed, seed2) {}
    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (true) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, out));
        if (poll != Poll::kElement || Drawn() < rate_) return poll;
      }
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(stream_.drawn());
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t drawn = 0;
      RETURN_IF_ERROR(reader.Read(&drawn));
      stream_.Skip(drawn);
      return InputStage::Restore(poller, reader);
    }

   private:
    // In [0, 1), of the lowest 23 bits.
    float Drawn() { return static_cast<float>(stream_.Next() & 0x7FFFFFu) * 0x1p-23f; }

    const float rate_;
    RandomStream stream_;
  };

  const float rate_;
  const uint64_t seed_;
  const uint64_t seed2_;
};

}  // namespace

Result<DatasetPtr> UniqueDataset(DatasetPtr input) {
  const std::vector<DType>& types = input->spec().types;
  if (types.size() != 1) {
    return InvalidArgument("UniqueDataset only supports inputs with a single component.");
  }
  if (types[0] != DType::kInt32 && types[0] != DType::kInt64 && types[0] != DType::kString) {
    return InvalidArgument(
        "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
        "component.");
  }
  return DatasetPtr(std::make_shared<Unique>(input));
}

DatasetPtr SamplingDataset(DatasetPtr input, float rate, int64_t seed, int64_t seed2) {
  const bool any = seed == 0 && seed2 == 0;
  return std::make_shared<Sampling>(input, rate, any ? RandomSeed() : static_cast<uint64_t>(seed),
                                    any ? RandomSeed() : static_cast<uint64_t>(seed2));
}

}  // namespace thalweg
