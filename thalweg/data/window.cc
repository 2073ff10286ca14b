// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "thalweg/data/batching.h"
#include "thalweg/data/input_stage.h"

namespace thalweg {
namespace {

class Window : public DatasetOver {
 public:
  Window(DatasetPtr input, int64_t size, int64_t shift, int64_t stride, bool drop_remainder,
         ElementSpec spec)
      : DatasetOver(std::move(spec), std::move(input)),
        size_(size),
        shift_(shift),
        stride_(stride),
        drop_remainder_(drop_remainder) {}
  std::string Kind() const override { return "Window"; }
  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    if (n < 0) return n;
    if (!drop_remainder_) return n / shift_ + (n % shift_ != 0 ? 1 : 0);
    const int64_t behind_first = n - ((size_ - 1) * stride_ + 1);
    return behind_first < 0 ? 0 : behind_first / shift_ + 1;
  }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<WindowStage>(std::move(input), *this, shared_from_this()));
  }

 private:
  class WindowStage : public InputStage {
   public:
    WindowStage(StagePtr input, const Window& window, DatasetPtr owner)
        : InputStage(std::move(input)), window_(window), owner_(std::move(owner)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      const int64_t span = (window_.size_ - 1) * window_.stride_ + 1;
      while (!ended_ && static_cast<int64_t>(buffer_.size()) < span) {
        RETURN_IF_ERROR(poller.Look());
        Element element;
        Result<Poll> poll = input_->Next(poller, &element);
        if (!poll.ok()) {
          // The window of an element that fails is the error's, as in TensorFlow.
          Status failed = buffer_.Explain(poll.status());
          if (poller.Look().ok()) buffer_.Clear();
          return failed;
        }
        if (*poll == Poll::kPending) return poll;
        ended_ = *poll == Poll::kEnd;
        if (ended_) break;
        if (element.size() != window_.input_->spec().types.size()) {
          return InvalidArgument("an element of ", element.size(),
                                 " components is none of the types that its dataset says");
        }
        // What lies between windows that are further apart than they are long.
        if (to_skip_ > 0) {
          --to_skip_;
        } else if (Status kept = buffer_.Push(poller.allocator(), std::move(element)); !kept.ok()) {
          buffer_.Clear();
          return kept;
        }
      }
      const auto have = static_cast<int64_t>(buffer_.size());
      if (have == 0 || (have < span && window_.drop_remainder_)) {
        buffer_.Clear();
        return Poll::kEnd;
      }
      RETURN_IF_ERROR(Make(poller.allocator(), out));
      const int64_t gone = std::min(window_.shift_, have);
      for (int64_t i = 0; i < gone; ++i) buffer_.Pop();
      to_skip_ = window_.shift_ - gone;
      return Poll::kElement;
    }

    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(to_skip_);
      writer.Add(ended_ ? 1 : 0);
      buffer_.Save(writer);
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t ended = 0;
      RETURN_IF_ERROR(reader.Read(&to_skip_));
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      RETURN_IF_ERROR(buffer_.Restore(poller.allocator(), reader, &window_.input_->spec().types));
      return InputStage::Restore(poller, reader);
    }

   private:
    // A dataset for each component.
    Status Make(Allocator& allocator, Element* out) const {
      std::vector<std::span<const Tensor>> members;
      for (int64_t i = 0, at = 0; i < window_.size_ && at < static_cast<int64_t>(buffer_.size());
           ++i, at += window_.stride_) {
        members.push_back(buffer_[static_cast<size_t>(at)]);
      }
      const ElementSpec& spec = window_.input_->spec();
      out->clear();
      for (size_t c = 0; c < spec.types.size(); ++c) {
        const auto elements = std::make_shared<KeptElements>("Window");
        for (const std::span<const Tensor> member : members) {
          RETURN_IF_ERROR(elements->Push(allocator, {member[c]}));
        }
        ASSIGN_OR_RETURN(Tensor dataset,
                         TensorOfList(elements, {{spec.types[c]}, {spec.shapes[c]}}));
        out->push_back(std::move(dataset));
      }
      return OkStatus();
    }

    const Window& window_;
    const DatasetPtr owner_;
    KeptElements buffer_{"Window"};
    int64_t to_skip_ = 0;
    bool ended_ = false;
  };

  const int64_t size_;
  const int64_t shift_;
  const int64_t stride_;
  const bool drop_remainder_;
};

}  // namespace

Result<DatasetPtr> WindowDataset(DatasetPtr input, int64_t size, int64_t shift, int64_t stride,
                                 bool drop_remainder, ElementSpec spec) {
  if (size <= 0) return InvalidArgument("Window size must be greater than zero.");
  if (shift <= 0) return InvalidArgument("Window shift must be greater than zero.");
  if (stride <= 0) return InvalidArgument("Window stride must be greater than zero.");
  int64_t span = 0;
  if (__builtin_mul_overflow(size - 1, stride, &span) || span == INT64_MAX) {
    return InvalidArgument("a window of ", size, " elements, each ", stride,
                           " after the other, is too long");
  }
  return DatasetPtr(std::make_shared<Window>(std::move(input), size, shift, stride, drop_remainder,
                                             std::move(spec)));
}

}  // namespace thalweg
