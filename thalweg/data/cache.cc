// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/cache.h"

#include <utility>

#include "thalweg/data/input_stage.h"

namespace thalweg {
namespace {

class Cache : public DatasetOver {
 public:
  Cache(const DatasetPtr& input, RefPtr<MemoryCache> memory)
      : DatasetOver(input), memory_(std::move(memory)) {}
  std::string Kind() const override { return "Cache"; }
  int64_t Cardinality() const override { return input_->Cardinality(); }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<CacheStage>(input_, memory_));
  }

 private:
  class CacheStage : public Stage {
   public:
    CacheStage(DatasetPtr input, RefPtr<MemoryCache> memory)
        : input_(std::move(input)), memory_(std::move(memory)), kept_(memory_->Get()) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (kept_ != nullptr) {
        if (at_ >= kept_->size()) return Poll::kEnd;
        const std::span<const Tensor> element = (*kept_)[at_++];
        out->assign(element.begin(), element.end());
        return Poll::kElement;
      }
      if (stage_ == nullptr) {
        ASSIGN_OR_RETURN(stage_, input_->MakeStage(poller.scope()));
      }
      Result<Poll> poll = stage_->Next(poller, out);
      if (!poll.ok()) return made_ != nullptr ? made_->Explain(poll.status()) : poll.status();
      if (*poll == Poll::kElement && made_ != nullptr) {
        Status kept = made_->PushCopy(poller.allocator(), *out);
        // A cache that lacks an element is none.
        if (!kept.ok()) made_ = nullptr;
        if (!kept.ok()) return kept;
      }
      if (*poll == Poll::kEnd && made_ != nullptr) {
        kept_ = std::exchange(made_, NewElements());
        at_ = kept_->size();
        memory_->Set(kept_);
        stage_ = nullptr;
      }
      return poll;
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(kept_ != nullptr ? static_cast<int64_t>(at_) : made_ != nullptr ? -1 : kGivenUp);
      (kept_ != nullptr ? *kept_ : made_ != nullptr ? *made_ : *NewElements()).Save(writer);
      writer.Add(stage_ != nullptr ? 1 : 0);
      return stage_ == nullptr ? Poll::kElement : stage_->Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t at = 0, open = 0;
      RETURN_IF_ERROR(reader.Read(&at));
      RETURN_IF_ERROR(made_->Restore(poller.allocator(), reader, &input_->spec().types));
      RETURN_IF_ERROR(reader.Read(&open));
      kept_ = nullptr;
      if (at == kGivenUp) made_ = nullptr;
      if (at >= 0) {
        kept_ = std::exchange(made_, NewElements());
        at_ = static_cast<size_t>(at);
        memory_->Set(kept_);
        return OkStatus();
      }
      if (open == 0) return OkStatus();
      ASSIGN_OR_RETURN(stage_, input_->MakeStage(poller.scope()));
      return stage_->Restore(poller, reader);
    }

   private:
    static std::shared_ptr<KeptElements> NewElements() {
      return std::make_shared<KeptElements>("Cache");
    }

    static constexpr int64_t kGivenUp = -2;

    const DatasetPtr input_;
    const RefPtr<MemoryCache> memory_;
    KeptElementsPtr kept_;  // null: this pass makes them
    size_t at_ = 0;
    StagePtr stage_;
    std::shared_ptr<KeptElements> made_ = NewElements();  // null: there was no room
  };

  const RefPtr<MemoryCache> memory_;
};

}  // namespace

KeptElementsPtr MemoryCache::Get() const {
  MutexLock lock(mutex_);
  return elements_;
}

void MemoryCache::Set(KeptElementsPtr elements) {
  MutexLock lock(mutex_);
  elements_ = std::move(elements);
}

DatasetPtr CacheDataset(DatasetPtr input, RefPtr<MemoryCache> memory) {
  return std::make_shared<Cache>(input, std::move(memory));
}

}  // namespace thalweg
