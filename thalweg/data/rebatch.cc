// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "thalweg/data/batching.h"
#include "thalweg/data/input_stage.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/resources/batch_rows.h"

namespace thalweg {
namespace {

class Rebatch : public DatasetOver {
 public:
  Rebatch(DatasetPtr input, std::vector<int64_t> sizes, const BatchOptions& options,
          ElementSpec spec)
      : DatasetOver(std::move(spec), std::move(input)),
        sizes_(std::move(sizes)),
        options_(options) {}
  std::string Kind() const override { return "Rebatch"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<RebatchStage>(std::move(input), *this, shared_from_this()));
  }

 private:
  // Keeps the batches of which rows are left, until there are enough rows.
  class RebatchStage : public InputStage {
   public:
    RebatchStage(StagePtr input, const Rebatch& rebatch, DatasetPtr owner)
        : InputStage(std::move(input)), rebatch_(rebatch), owner_(std::move(owner)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      const int64_t wanted = rebatch_.sizes_[static_cast<size_t>(turn_)];
      while (rows_ < wanted && !ended_) {
        RETURN_IF_ERROR(poller.Look());
        Element batch;
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &batch));
        if (poll == Poll::kPending) return poll;
        if (poll == Poll::kEnd) {
          ended_ = true;
          break;
        }
        ASSIGN_OR_RETURN(const int64_t rows, RowsOf(batch));
        if (rows == 0) continue;
        RETURN_IF_ERROR(kept_.Push(poller.allocator(), std::move(batch)));
        rows_ += rows;
      }
      const int64_t rows = std::min(rows_, wanted);
      if (rows == 0 || (rows < wanted && rebatch_.options_.drop_remainder)) {
        kept_.Clear();
        rows_ = 0;
        return Poll::kEnd;
      }
      RETURN_IF_ERROR(Cut(poller.allocator(), rows, out));
      turn_ = (turn_ + 1) % static_cast<int64_t>(rebatch_.sizes_.size());
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(first_row_);
      writer.Add(turn_);
      writer.Add(ended_ ? 1 : 0);
      kept_.Save(writer);
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t ended = 0;
      RETURN_IF_ERROR(reader.Read(&first_row_));
      RETURN_IF_ERROR(reader.Read(&turn_));
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      RETURN_IF_ERROR(kept_.Restore(poller.allocator(), reader, &rebatch_.input_->spec().types));
      rows_ = -first_row_;
      for (size_t i = 0; i < kept_.size(); ++i) {
        ASSIGN_OR_RETURN(const int64_t rows, RowsOf(kept_[i]));
        rows_ += rows;
      }
      const bool fits = first_row_ >= 0 && (first_row_ == 0 || rows_ > 0) && turn_ >= 0 &&
                        turn_ < static_cast<int64_t>(rebatch_.sizes_.size());
      if (!fits || (!kept_.empty() && first_row_ >= kept_[0][0].dim(0))) {
        return InvalidArgument("the state of the iterator is none of this dataset");
      }
      return InputStage::Restore(poller, reader);
    }

   private:
    // The rows of all components; where one has a row less it is no batch.
    Result<int64_t> RowsOf(std::span<const Tensor> batch) const {
      for (size_t i = 0; i < batch.size(); ++i) {
        if (batch[i].rank() == 0) {
          return InvalidArgument("Cannot rebatch a dataset with scalar components: component ", i,
                                 " has shape []");
        }
        if (batch[i].dim(0) != batch[0].dim(0)) {
          return InvalidArgument(
              "a batch must have equally many rows in all components, component ", i, " has ",
              batch[i].dim(0), " and component 0 has ", batch[0].dim(0));
        }
      }
      return batch.empty() ? 0 : batch[0].dim(0);
    }
    Status Cut(Allocator& allocator, int64_t rows, Element* out) {
      std::vector<std::vector<Tensor>> parts(kept_[0].size());
      int64_t left = rows, from = first_row_;
      size_t used = 0;  // batches of which nothing is left
      while (left > 0) {
        const std::span<const Tensor> batch = kept_[used];
        const int64_t taken = std::min(left, batch[0].dim(0) - from);
        for (size_t i = 0; i < parts.size(); ++i) {
          parts[i].push_back(batch[i].Rows(from, from + taken));
          RETURN_IF_ERROR(CheckRows(i, parts[i]));
        }
        left -= taken;
        from += taken;
        if (from < batch[0].dim(0)) break;
        from = 0;
        ++used;
      }
      out->resize(parts.size());
      for (size_t i = 0; i < parts.size(); ++i) {
        ASSIGN_OR_RETURN((*out)[i], JoinRows(allocator, parts[i], rows));
      }
      for (size_t k = 0; k < used; ++k) kept_.Pop();
      first_row_ = from;
      rows_ -= rows;
      return OkStatus();
    }
    static Status CheckRows(size_t i, const std::vector<Tensor>& parts) {
      const Shape &one = parts.front().shape(), &other = parts.back().shape();
      bool same = one.rank() == other.rank() && parts.front().dtype() == parts.back().dtype();
      for (int d = 1; same && d < one.rank(); ++d) same = one.dim(d) == other.dim(d);
      return same ? OkStatus()
                  : FailedPrecondition("Cannot batch tensors with different shapes in component ",
                                       i, ". First batch had rows of ", one, " and another one of ",
                                       other, ".");
    }

    const Rebatch& rebatch_;
    const DatasetPtr owner_;
    KeptElements kept_{"Rebatch"};
    int64_t first_row_ = 0;  // of the first batch, that is left
    int64_t rows_ = 0;       // that are left, in all
    int64_t turn_ = 0;       // which of the sizes comes next
    bool ended_ = false;
  };

  const std::vector<int64_t> sizes_;
  const BatchOptions options_;
};

}  // namespace

Result<DatasetPtr> RebatchDataset(DatasetPtr input, std::vector<int64_t> sizes,
                                  const BatchOptions& options, ElementSpec spec) {
  if (sizes.empty()) return InvalidArgument("batch_sizes must hold at least one size");
  for (const int64_t size : sizes) {
    if (size <= 0) return InvalidArgument("batch_sizes must be greater than zero, got ", size);
  }
  return DatasetPtr(
      std::make_shared<Rebatch>(std::move(input), std::move(sizes), options, std::move(spec)));
}

}  // namespace thalweg
