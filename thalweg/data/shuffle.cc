// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/shuffle.h"

#include <deque>
#include <tuple>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/data/input_stage.h"
#include "thalweg/data/kept_elements.h"

namespace thalweg {
namespace {

class Shuffle : public DatasetOver {
 public:
  Shuffle(const DatasetPtr& input, const ShuffleOptions& options)
      : DatasetOver(input), options_(options) {}
  std::string Kind() const override { return "Shuffle"; }
  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    int64_t all = 0;
    if (options_.count == 1 || n <= 0) return n;
    if (options_.count < 0) return kInfinite;
    return __builtin_mul_overflow(n, options_.count, &all) ? kInfinite : all;
  }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    const auto [seed, seed2] = options_.seeds->Next();
    return StagePtr(std::make_unique<ShuffleStage>(input_, options_, seed, seed2));
  }

 private:
  class ShuffleStage : public Stage {
   public:
    ShuffleStage(DatasetPtr input, const ShuffleOptions& options, uint64_t seed, uint64_t seed2)
        : input_(std::move(input)),
          options_(options),
          seed_(seed),
          seed2_(seed2),
          stream_(seed, seed2) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      ASSIGN_OR_RETURN(const Poll filled, Fill(poller));
      if (filled == Poll::kPending) return filled;
      while (!rounds_.empty() && rounds_.front() == 0) {
        rounds_.pop_front();
        if (rounds_.empty()) break;
        // The next repetition has seeds of its own, as in TensorFlow 2.
        std::tie(seed_, seed2_) = options_.seeds->Next();
        stream_ = RandomStream(seed_, seed2_);
      }
      if (rounds_.empty()) return Poll::kEnd;
      // Elements of a repetition come before any of the next.
      const size_t chosen = stream_.Next() % static_cast<uint64_t>(rounds_.front());
      buffer_.Take(chosen, out);
      --rounds_.front();
      return Poll::kElement;
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(options_.seeds->drawn());
      writer.Add(static_cast<int64_t>(seed_));
      writer.Add(static_cast<int64_t>(seed2_));
      writer.Add(stream_.drawn());
      writer.Add(round_);
      writer.Add(ended_ ? 1 : 0);
      writer.Add(static_cast<int64_t>(rounds_.size()));
      for (const int64_t n : rounds_) writer.Add(n);
      buffer_.Save(writer);
      writer.Add(stage_ == nullptr ? 0 : any_ ? 2 : 1);
      return stage_ == nullptr ? Poll::kElement : stage_->Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t seeds = 0, seed = 0, seed2 = 0, drawn = 0, ended = 0, open = 0;
      RETURN_IF_ERROR(reader.Read(&seeds));
      RETURN_IF_ERROR(reader.Read(&seed));
      RETURN_IF_ERROR(reader.Read(&seed2));
      RETURN_IF_ERROR(reader.Read(&drawn));
      options_.seeds->Restore(seeds);
      seed_ = static_cast<uint64_t>(seed);
      seed2_ = static_cast<uint64_t>(seed2);
      stream_ = RandomStream(seed_, seed2_);
      stream_.Skip(drawn);
      RETURN_IF_ERROR(reader.Read(&round_));
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      RETURN_IF_ERROR(RestoreBuffer(poller, reader));
      RETURN_IF_ERROR(reader.Read(&open));
      if (open == 0) return OkStatus();
      ASSIGN_OR_RETURN(stage_, input_->MakeStage(poller.scope()));
      any_ = open == 2;
      return stage_->Restore(poller, reader);
    }

   private:
    // kElement: the buffer is full, or the input has ended.
    Result<Poll> Fill(const Poller& poller) {
      while (!ended_ && (options_.buffer == kWholeInput ||
                         static_cast<int64_t>(buffer_.size()) < options_.buffer)) {
        RETURN_IF_ERROR(poller.Look());
        if (stage_ == nullptr) {
          if (options_.count >= 0 && round_ >= options_.count) {
            ended_ = true;
            break;
          }
          ASSIGN_OR_RETURN(stage_, input_->MakeStage(poller.scope()));
          rounds_.push_back(0);
          any_ = false;
        }
        Result<Poll> poll = stage_->Next(poller, &element_);
        if (!poll.ok()) return buffer_.Explain(poll.status());
        if (*poll == Poll::kPending) return poll;
        if (*poll == Poll::kElement) {
          RETURN_IF_ERROR(buffer_.Push(poller.allocator(), std::move(element_)));
          ++rounds_.back();
          any_ = true;
          continue;
        }
        stage_ = nullptr;
        ++round_;
        ended_ = !any_;  // nothing is nothing, however often
        if (options_.buffer == kWholeInput && any_) break;
      }
      return Poll::kElement;
    }

    Status RestoreBuffer(const Poller& poller, StateReader& reader) {
      int64_t rounds = 0, sum = 0;
      RETURN_IF_ERROR(reader.ReadCount(&rounds));
      rounds_.resize(static_cast<size_t>(rounds));
      for (int64_t& n : rounds_) {
        RETURN_IF_ERROR(reader.Read(&n));
        if (n < 0) return InvalidArgument("the state of the iterator is none of this dataset");
        sum += n;
      }
      RETURN_IF_ERROR(buffer_.Restore(poller.allocator(), reader, &input_->spec().types));
      if (sum == static_cast<int64_t>(buffer_.size())) return OkStatus();
      return InvalidArgument("the state of the iterator is none of this dataset");
    }

    const DatasetPtr input_;
    const ShuffleOptions options_;
    uint64_t seed_;
    uint64_t seed2_;
    RandomStream stream_;
    StagePtr stage_;   // of this repetition; null: it has not begun
    Element element_;  // the room of the next one
    bool any_ = false;
    int64_t round_ = 0;
    bool ended_ = false;
    std::deque<int64_t> rounds_;      // how many elements of the buffer are of each repetition
    KeptElements buffer_{"Shuffle"};  // in the order in which they came, but for what was chosen
  };

  const ShuffleOptions options_;
};

}  // namespace

ShuffleSeeds::ShuffleSeeds(int64_t seed, int64_t seed2, bool reshuffle)
    : reshuffle_(reshuffle),
      seed_(seed == 0 && seed2 == 0 ? RandomSeed() : static_cast<uint64_t>(seed)),
      seed2_(seed == 0 && seed2 == 0 ? RandomSeed() : static_cast<uint64_t>(seed2)),
      stream_(seed_, seed2_) {}

std::pair<uint64_t, uint64_t> ShuffleSeeds::Next() {
  if (!reshuffle_) return {seed_, seed2_};
  MutexLock lock(mutex_);
  const uint64_t seed = stream_.Next();
  return {seed, stream_.Next()};
}

int64_t ShuffleSeeds::drawn() {
  MutexLock lock(mutex_);
  return stream_.drawn();
}

void ShuffleSeeds::Restore(int64_t drawn) {
  MutexLock lock(mutex_);
  stream_ = RandomStream(seed_, seed2_);
  stream_.Skip(drawn);
}

Result<DatasetPtr> ShuffleDataset(DatasetPtr input, const ShuffleOptions& options) {
  if (options.buffer <= 0 && options.buffer != kWholeInput) {
    return InvalidArgument("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  }
  return DatasetPtr(std::make_shared<Shuffle>(input, options));
}

}  // namespace thalweg
