// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "thalweg/data/batching.h"
#include "thalweg/data/grouping.h"
#include "thalweg/data/inner_stage.h"

namespace thalweg {
namespace {

std::shared_ptr<KeptElements> NewElements() {
  return std::make_shared<KeptElements>("GroupByWindow");
}

// The elements of one key.
struct Group {
  int64_t size = 0;  // once it has as many elements it is whole
  std::shared_ptr<KeptElements> elements = NewElements();
};

class GroupByWindow : public DatasetOver {
 public:
  GroupByWindow(DatasetPtr input, WindowFunctions functions, ElementSpec spec)
      : DatasetOver(std::move(spec), std::move(input)), functions_(std::move(functions)) {}
  std::string Kind() const override { return "GroupByWindow"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<GroupStage>(std::move(input), *this, shared_from_this()));
  }

 private:
  class GroupStage : public InputStage {
   public:
    GroupStage(StagePtr input, const GroupByWindow& groups, DatasetPtr owner)
        : InputStage(std::move(input)),
          dataset_(groups),
          owner_(std::move(owner)),
          key_call_(groups.functions_.key),
          size_call_(groups.functions_.size),
          reduce_call_(groups.functions_.reduce) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (true) {
        RETURN_IF_ERROR(poller.Look());
        if (stage_.is_open()) {
          ASSIGN_OR_RETURN(const Poll poll, stage_.Next(poller, out));
          if (poll != Poll::kEnd) return poll;
          stage_ = {};
          whole_ = NewElements();
        } else if (reduce_call_.open()) {
          ASSIGN_OR_RETURN(const Poll poll, Open(poller));
          if (poll != Poll::kElement) return poll;
        } else if (ended_ && groups_.empty()) {
          return Poll::kEnd;
        } else if (ended_) {
          RETURN_IF_ERROR(Close(poller, groups_.begin()));
        } else {
          ASSIGN_OR_RETURN(const Poll poll, Collect(poller));
          if (poll == Poll::kPending) return poll;
        }
      }
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(ended_ ? 1 : 0);
      writer.Add(static_cast<int64_t>(groups_.size()));
      for (const auto& [key, group] : groups_) {
        writer.Add(key);
        writer.Add(group.size);
        group.elements->Save(writer);
      }
      writer.Add(key_call_.open() || size_call_.open() ? element_ : Element());
      writer.Add(stage_.is_open() ? 2 : reduce_call_.open() ? 1 : 0);
      writer.Add(whole_key_);
      whole_->Save(writer);
      if (stage_.is_open()) {
        ASSIGN_OR_RETURN(const Poll poll, stage_.Save(poller, writer));
        if (poll != Poll::kElement) return poll;
      }
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t ended = 0, n = 0, key = 0, state = 0;
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      RETURN_IF_ERROR(reader.ReadCount(&n));
      for (int64_t i = 0; i < n; ++i) {
        RETURN_IF_ERROR(reader.Read(&key));
        RETURN_IF_ERROR(reader.Read(&groups_[key].size));
        RETURN_IF_ERROR(groups_[key].elements->Restore(poller.allocator(), reader));
      }
      RETURN_IF_ERROR(reader.Read(&element_));
      if (!element_.empty()) key_call_.Begin(poller, Element(element_));
      RETURN_IF_ERROR(reader.Read(&state));
      RETURN_IF_ERROR(reader.Read(&whole_key_));
      const auto whole = NewElements();
      RETURN_IF_ERROR(whole->Restore(poller.allocator(), reader));
      whole_ = whole;
      if (state > 0) RETURN_IF_ERROR(Reduce(poller));
      if (state > 1) {
        ASSIGN_OR_RETURN(const Poll poll, Open(poller));
        if (poll == Poll::kPending) {
          return Unimplemented(
              "an iterator is restored whose function waits for other steps before it gives a "
              "dataset");
        }
        RETURN_IF_ERROR(stage_.Restore(poller, reader));
      }
      return InputStage::Restore(poller, reader);
    }

   private:
    using Groups = std::map<int64_t, Group>;

    // One element more is in its group, or the input has ended.
    Result<Poll> Collect(const Poller& poller) {
      if (!key_call_.open() && !size_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &element_));
        ended_ = poll == Poll::kEnd;
        if (poll != Poll::kElement) return poll;
        key_call_.Begin(poller, Element(element_));
      }
      Element results;
      if (key_call_.open()) {
        ASSIGN_OR_RETURN(const Poll poll, key_call_.Get(poller, &results));
        if (poll != Poll::kElement) return poll;
        ASSIGN_OR_RETURN(const int64_t key, KeyOf(results, "key_func"));
        const auto found = groups_.find(key);
        if (found != groups_.end()) return Put(poller, found);
        size_call_.Begin(poller, {Tensor::Scalar(key)});
      }
      ASSIGN_OR_RETURN(const int64_t key, KeyOf(size_call_.element(), "key_func"));
      ASSIGN_OR_RETURN(const Poll poll, size_call_.Get(poller, &results));
      if (poll != Poll::kElement) return poll;
      ASSIGN_OR_RETURN(const int64_t size, KeyOf(results, "window_size_func"));
      if (size <= 0) {
        return InvalidArgument("Window size must be greater than zero, but got ", size, ".");
      }
      return Put(poller, groups_.emplace(key, Group{size}).first);
    }
    Result<Poll> Put(const Poller& poller, Groups::iterator group) {
      KeptElements& elements = *group->second.elements;
      RETURN_IF_ERROR(elements.Push(poller.allocator(), std::move(element_)));
      if (static_cast<int64_t>(elements.size()) >= group->second.size) {
        RETURN_IF_ERROR(Close(poller, group));
      }
      return Poll::kElement;
    }

    // The group is whole.
    Status Close(const Poller& poller, Groups::iterator group) {
      whole_key_ = group->first;
      whole_ = std::move(group->second.elements);
      groups_.erase(group);
      return Reduce(poller);
    }
    Status Reduce(const Poller& poller) {
      ASSIGN_OR_RETURN(Tensor elements, TensorOfList(whole_, dataset_.input_->spec()));
      reduce_call_.Begin(poller, {Tensor::Scalar(whole_key_), std::move(elements)});
      return OkStatus();
    }
    // kElement: what the function makes of the whole group has begun.
    Result<Poll> Open(const Poller& poller) {
      Element results;
      ASSIGN_OR_RETURN(const Poll poll, reduce_call_.Get(poller, &results));
      if (poll != Poll::kElement) return poll;
      if (results.size() != 1) {
        return InvalidArgument("reduce_func must give one dataset, got ", results.size(),
                               " values");
      }
      ASSIGN_OR_RETURN(const DatasetPtr made, DatasetOf(results[0]));
      RETURN_IF_ERROR(dataset_.spec().Admits(made->spec()));
      ASSIGN_OR_RETURN(stage_, InnerStage::Open(poller, made));
      return Poll::kElement;
    }

    const GroupByWindow& dataset_;
    const DatasetPtr owner_;
    CallInTurn key_call_;
    CallInTurn size_call_;
    CallInTurn reduce_call_;
    Element element_;  // whose group is looked for
    Groups groups_;
    int64_t whole_key_ = 0;
    KeptElementsPtr whole_ = NewElements();  // the group that is reduced, or was and gives elements
    InnerStage stage_;                       // gives them
    bool ended_ = false;
  };

  const WindowFunctions functions_;
};

}  // namespace

Result<int64_t> KeyOf(const Element& results, const char* what) {
  if (results.size() == 1 && results[0].dtype() == DType::kInt64 && results[0].rank() == 0) {
    return results[0].scalar<int64_t>();
  }
  return InvalidArgument("`", what, "` must return a scalar int64.");
}

DatasetPtr GroupByWindowDataset(DatasetPtr input, WindowFunctions functions, ElementSpec spec) {
  return std::make_shared<GroupByWindow>(std::move(input), std::move(functions), std::move(spec));
}

}  // namespace thalweg
