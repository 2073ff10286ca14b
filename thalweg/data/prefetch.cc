// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/prefetch.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/data/input_stage.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/kernel/caught_exception.h"

namespace thalweg {
namespace {

constexpr size_t kFirstAutoBuffer = 2;
constexpr size_t kMostAutoElements = 256;
constexpr size_t kMostAutoBytes = size_t{256} << 20;

// An element that is ready, or why it could not be made.
struct Ready {
  Result<Element> element;
  size_t bytes = 0;    // of its tensors
  size_t charged = 0;  // beside those
};

size_t BytesOf(const Element& element) {
  size_t bytes = 0;
  for (const Tensor& tensor : element) bytes += tensor.bytes();
  return bytes;
}

// Fills the buffer in turns of its own.
class Producer : public Actor {
 public:
  Producer(StagePtr input, int64_t buffer, const PipelineRef& pipeline, bool first_in_turn)
      : Actor(*pipeline->queue),
        input_(std::move(input)),
        pipeline_(pipeline.shared),
        depth_(pipeline.depth),
        options_(pipeline.options),
        is_auto_(buffer < 0 && options_.autotune),
        first_in_turn_(first_in_turn),
        limit_(buffer < 0 ? std::max(kFirstAutoBuffer, static_cast<size_t>(-buffer))
                          : static_cast<size_t>(buffer)) {}

  Result<Poll> Next(const Poller& poller, Element* out) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      is_paused_ = false;  // by a Save that nobody wanted to its end
      if (!buffer_.empty()) return Pop(out);
    }
    // Where nobody makes elements the first is made here, the next ones while it is used.
    if (std::optional<Result<Poll>> made = MakeOne(poller, out)) return *std::move(made);
    MutexLock lock(mutex_);
    // The producer may have been there meanwhile.
    if (!buffer_.empty()) return Pop(out);
    if (!failure_.ok()) return std::exchange(failure_, OkStatus());
    if (ended_) return Poll::kEnd;
    // Too few were ready, although all places had been full.
    if (is_auto_ && was_full_ && limit_ < kMostAutoElements && bytes_at_full_ < kMostAutoBytes &&
        HasRoomFor(bytes_at_full_, 2)) {
      limit_ *= 2;
      was_full_ = false;
    }
    consumer_ = poller.actor();
    return Poll::kPending;
  }

  Result<Poll> Save(const Poller& poller, StateWriter& writer) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      is_paused_ = true;
      consumer_ = poller.actor();
    }
    const Entry entry(*this);
    if (!entry) {
      Wake();  // for a turn that tells the consumer at its end
      return Poll::kPending;
    }
    Result<Poll> poll = SaveAll(poller, writer);
    MutexLock lock(mutex_);
    if (!poll.ok() || *poll == Poll::kElement) is_paused_ = false;
    return poll;
  }

  Status Restore(const Poller& poller, StateReader& reader) EXCLUDES(mutex_) {
    int64_t ready = 0, ended = 0;
    RETURN_IF_ERROR(reader.ReadCount(&ready));
    MutexLock lock(mutex_);
    for (int64_t i = 0; i < ready; ++i) {
      Element element;
      RETURN_IF_ERROR(reader.Read(&element));
      if (Status kept = Keep(std::move(element)); !kept.ok()) {
        return kept.WithContext(StrCat("the ", ready, " elements that a prefetch had ready"));
      }
    }
    RETURN_IF_ERROR(reader.Read(&ended));
    ended_ = ended != 0;
    return input_->Restore(poller, reader);
  }

  void Stop() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    is_paused_ = true;
  }

 private:
  // Nothing where somebody else makes elements, some are there already, or none is yet.
  std::optional<Result<Poll>> MakeOne(const Poller& poller, Element* out) EXCLUDES(mutex_) {
    if (!first_in_turn_) {
      Wake();
      return std::nullopt;
    }
    const Entry entry(*this);
    Wake();
    if (!entry) return std::nullopt;
    {
      MutexLock lock(mutex_);
      if (!buffer_.empty() || ended_) return std::nullopt;
    }
    // What the input has later wakes the producer.
    const Poller here(pipeline_, weak_from_this(), poller.step(), depth_, options_);
    Result<Poll> poll = input_->Next(here, out);
    if (poll.ok() && *poll == Poll::kPending) return std::nullopt;
    if (poll.ok() && *poll == Poll::kEnd) {
      MutexLock lock(mutex_);
      ended_ = true;
    }
    return poll;
  }

  // An exception is for want of memory: it ends the pass, and the consumer is told.
  void Turn() override EXCLUDES(mutex_) {
    try {
      Produce();
    } catch (...) {
      Fail(CaughtException());
    }
    TellWhoSaves();
  }

  void Fail(Status failure) EXCLUDES(mutex_) {
    std::shared_ptr<Actor> consumer;
    {
      MutexLock lock(mutex_);
      ended_ = true;
      failure_ = std::move(failure);
      consumer = std::exchange(consumer_, {}).lock();
    }
    if (consumer != nullptr) consumer->Wake();
  }

  void Produce() EXCLUDES(mutex_) {
    const Poller poller(pipeline_, weak_from_this(), nullptr, depth_, options_);
    while (WantsMore()) {
      Element element;
      Result<Poll> poll = input_->Next(poller, &element);
      if (poll.ok() && *poll == Poll::kPending) break;
      std::shared_ptr<Actor> consumer;
      {
        MutexLock lock(mutex_);
        if (!poll.ok()) {
          buffer_.push_back({poll.status()});
        } else if (*poll == Poll::kEnd) {
          ended_ = true;
        } else {
          // One that finds no room is there all the same.
          crowded_ |= !Keep(std::move(element)).ok();
        }
        consumer = std::exchange(consumer_, {}).lock();
      }
      if (consumer == nullptr) continue;
      // Who waited comes first where there is one thread for both.
      consumer->Wake();
      return Wake();
    }
  }

  void TellWhoSaves() EXCLUDES(mutex_) {
    std::shared_ptr<Actor> saves;
    {
      MutexLock lock(mutex_);
      if (is_paused_) saves = std::exchange(consumer_, {}).lock();
    }
    if (saves != nullptr) saves->Wake();
  }

  bool WantsMore() EXCLUDES(mutex_) {
    if (pipeline_->cancellation.IsCancelled()) return false;
    MutexLock lock(mutex_);
    if (ended_ || is_paused_) return false;
    if (buffer_.empty()) return true;
    const size_t bytes = buffer_.back().bytes + buffer_.back().charged;
    if (buffer_.size() >= limit_) {
      was_full_ = true;
      bytes_at_full_ = bytes * buffer_.size();
      return false;
    }
    // What is made in advance leaves memory to those who need it now.
    crowded_ |= !HasRoomFor(bytes, 8);
    if (crowded_ && is_auto_) limit_ = buffer_.size();
    return !crowded_;
  }

  // And leaves one `share`th of the session's memory free.
  bool HasRoomFor(size_t bytes, int64_t share) const {
    const AllocatorStats stats = pipeline_->allocator->Stats();
    return stats.bytes_in_use + static_cast<int64_t>(bytes) <= stats.limit - stats.limit / share;
  }

  // ResourceExhausted: uncharged.
  Status Keep(Element element) REQUIRES(mutex_) {
    const size_t bytes = KeptBytes(element);
    Status charged = ChargeTexts(*pipeline_->allocator, element);
    if (charged.ok()) charged = charge_.Add(*pipeline_->allocator, bytes);
    const size_t of_tensors = BytesOf(element);
    buffer_.push_back({std::move(element), of_tensors, charged.ok() ? bytes : 0});
    return charged;
  }

  Result<Poll> Pop(Element* out) REQUIRES(mutex_) {
    Ready first = std::move(buffer_.front());
    buffer_.pop_front();
    charge_.Remove(first.charged);
    if ((crowded_ || buffer_.size() == limit_ / 2) && !ended_) Wake();
    crowded_ = false;
    if (!first.element.ok()) return first.element.status();
    *out = *std::move(first.element);
    return Poll::kElement;
  }

  Result<Poll> SaveAll(const Poller& poller, StateWriter& writer) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      // Errors are made again where that is possible: they are not saved.
      const auto is_element = [](const Ready& ready) { return ready.element.ok(); };
      writer.Add(static_cast<int64_t>(std::count_if(buffer_.begin(), buffer_.end(), is_element)));
      for (const Ready& ready : buffer_) {
        if (ready.element.ok()) writer.Add(*ready.element);
      }
      writer.Add(ended_ ? 1 : 0);
    }
    return input_->Save(poller, writer);
  }

  const StagePtr input_;  // of who has entered the task
  const std::shared_ptr<Pipeline> pipeline_;
  const int depth_;  // of its input, inside of other datasets
  const StageOptions options_;
  const bool is_auto_;
  const bool first_in_turn_;
  Mutex mutex_;
  size_t limit_ GUARDED_BY(mutex_);
  std::deque<Ready> buffer_ GUARDED_BY(mutex_);
  SteppedCharge charge_ GUARDED_BY(mutex_);
  bool crowded_ GUARDED_BY(mutex_) = false;  // there was no memory for more elements
  bool ended_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);  // why it ended before its input did; told once
  bool is_paused_ GUARDED_BY(mutex_) = false;
  bool was_full_ GUARDED_BY(mutex_) = false;
  size_t bytes_at_full_ GUARDED_BY(mutex_) = 0;
  std::weak_ptr<Actor> consumer_ GUARDED_BY(mutex_);  // waits
};

class ProducedStage : public Stage {
 public:
  explicit ProducedStage(std::shared_ptr<Producer> producer) : producer_(std::move(producer)) {}
  ~ProducedStage() override { producer_->Stop(); }
  Result<Poll> DoNext(const Poller& poller, Element* out) override {
    return producer_->Next(poller, out);
  }
  void BeginAhead() override { producer_->Wake(); }
  Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
    return producer_->Save(poller, writer);
  }
  Status Restore(const Poller& poller, StateReader& reader) override {
    return producer_->Restore(poller, reader);
  }

 private:
  const std::shared_ptr<Producer> producer_;
};

class Prefetch : public DatasetOver {
 public:
  Prefetch(const DatasetPtr& input, int64_t buffer) : DatasetOver(input), buffer_(buffer) {}
  std::string Kind() const override { return "Prefetch"; }
  int64_t Cardinality() const override { return input_->Cardinality(); }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return PrefetchStage(std::move(input), buffer_, pipeline);
  }

 private:
  const int64_t buffer_;
};

}  // namespace

StagePtr PrefetchStage(StagePtr input, int64_t buffer, const PipelineRef& pipeline,
                       bool first_in_turn) {
  if (pipeline->queue == nullptr || buffer == 0) return input;
  return std::make_unique<ProducedStage>(
      std::make_shared<Producer>(std::move(input), buffer, pipeline, first_in_turn));
}

DatasetPtr PrefetchDataset(DatasetPtr input, int64_t buffer) {
  return std::make_shared<Prefetch>(input, buffer);
}

}  // namespace thalweg
