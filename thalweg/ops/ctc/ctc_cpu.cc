// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/ctc/ctc.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

using compute::CtcLogits;

// Logits [time, batch, classes], and how long each sequence is.
struct Sequences {
  int64_t steps, batch, classes;
  const int32_t* lengths;

  // What decoders call a failed precondition is an invalid argument of the loss; a length below
  // zero is none to a decoder, which reads nothing then.
  static Result<Sequences> Of(const Tensor& inputs, const Tensor& lengths, bool decodes = false) {
    if (inputs.rank() != 3) {
      return InvalidArgument("inputs is not a 3-Tensor: shape ", inputs.shape());
    }
    Sequences s{inputs.dim(0), inputs.dim(1), inputs.dim(2), nullptr};
    if (lengths.rank() != 1) {
      return InvalidArgument("sequence_length must be a vector, got shape ", lengths.shape());
    }
    if (lengths.dim(0) != s.batch) {
      if (decodes) {
        return FailedPrecondition("sequence_length must be a vector of ", s.batch, ", got ",
                                  lengths.dim(0));
      }
      return InvalidArgument("sequence_length must be a vector of ", s.batch, ", got shape ",
                             lengths.shape());
    }
    if (decodes && inputs.num_elements() == 0) {
      return InvalidArgument("inputs must not be empty: shape ", inputs.shape());
    }
    if (s.classes < 1) return InvalidArgument("there must be at least one class, the blank");
    s.lengths = lengths.data<int32_t>();
    for (int64_t b = 0; b < s.batch; ++b) {
      if ((decodes || s.lengths[b] >= 0) && s.lengths[b] <= s.steps) continue;
      if (decodes) {
        return FailedPrecondition("sequence_length(", b, ") must be at most ", s.steps, ", got ",
                                  s.lengths[b]);
      }
      return InvalidArgument("sequence_length(", b, ") must be between 0 and ", s.steps, ", got ",
                             s.lengths[b]);
    }
    return s;
  }
  template <class T>
  CtcLogits<T> Logits(const Tensor& inputs, int64_t b) const {
    return {inputs.data<T>() + b * classes, lengths[b], classes, batch * classes};
  }
};

// f(b) for every sequence; one of the errors.
template <class F>
Status ForEachSequence(Context& ctx, int64_t batch, const F& f) {
  std::vector<Status> ended(static_cast<size_t>(batch));
  RETURN_IF_ERROR(compute::ForBlocks(
      ctx.work(), batch, 1, [&](int64_t b, int64_t) { ended[static_cast<size_t>(b)] = f(b); }));
  for (Status& status : ended) RETURN_IF_ERROR(std::move(status));
  return OkStatus();
}

template <class T>
class LossCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<LossCpu>();
    ASSIGN_OR_RETURN(kernel->collapse_, c.Attr<bool>("preprocess_collapse_repeated"));
    ASSIGN_OR_RETURN(kernel->merge_, c.Attr<bool>("ctc_merge_repeated"));
    ASSIGN_OR_RETURN(kernel->ignore_longer_, c.Attr<bool>("ignore_longer_outputs_than_inputs"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& inputs = ctx.input(0);
    ASSIGN_OR_RETURN(const Sequences s, Sequences::Of(inputs, ctx.input(3)));
    ASSIGN_OR_RETURN(const auto labels, LabelsOf(ctx.input(1), ctx.input(2), s));
    ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, kDTypeOf<T>, Shape{s.batch}));
    ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, kDTypeOf<T>, inputs.shape()));
    T* const losses = loss->mutable_data<T>();
    std::fill_n(losses, s.batch, T(0));
    std::fill_n(gradient->mutable_data<T>(), gradient->num_elements(), T(0));
    return ForEachSequence(ctx, s.batch, [&](int64_t b) -> Status {
      const auto& own = labels[static_cast<size_t>(b)];
      if (s.lengths[b] == 0 || static_cast<int64_t>(own.size()) > s.lengths[b]) return OkStatus();
      T* const to = gradient->mutable_data<T>() + b * s.classes;
      ASSIGN_OR_RETURN(const double lost,
                       compute::CtcLoss(ctx.work(), s.Logits<T>(inputs, b), own, merge_, to));
      losses[b] = static_cast<T>(lost);
      return OkStatus();
    });
  }

 private:
  // The labels of each sequence, in the order of their times.
  Result<std::vector<std::vector<int32_t>>> LabelsOf(const Tensor& indices, const Tensor& values,
                                                     const Sequences& s) const {
    if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
        values.dim(0) != indices.dim(0)) {
      return InvalidArgument(
          "labels_indices must be a matrix of two columns and labels_values as "
          "long, got shapes ",
          indices.shape(), " and ", values.shape());
    }
    std::vector<std::vector<int32_t>> labels(static_cast<size_t>(s.batch));
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      const int64_t b = indices.data<int64_t>()[2 * i];
      const int32_t label = values.data<int32_t>()[i];
      if (b < 0 || b >= s.batch) {
        return InvalidArgument("labels batch index must be between 0 and ", s.batch,
                               " but saw: ", b);
      }
      if (label < 0 || label >= s.classes - 1) {
        return InvalidArgument("Saw a label that is no class before the blank (0 <= label < ",
                               s.classes - 1, "): ", label, " in batch ", b);
      }
      auto& own = labels[static_cast<size_t>(b)];
      if (!collapse_ || own.empty() || own.back() != label) own.push_back(label);
    }
    for (int64_t b = 0; b < s.batch; ++b) {
      const auto required = static_cast<int64_t>(labels[static_cast<size_t>(b)].size());
      if (required == 0) return InvalidArgument("Labels length is zero in batch ", b);
      if (ignore_longer_ || required <= s.lengths[b]) continue;
      return InvalidArgument("Not enough time for target transition sequence (required: ", required,
                             ", available: ", s.lengths[b], ") in batch ", b,
                             ". ignore_longer_outputs_than_inputs passes over such sequences");
    }
    return labels;
  }

  bool collapse_ = false, merge_ = true, ignore_longer_ = false;
};

// Output `path` of `paths`: the labels of every sequence as a sparse tensor.
void SetLabels(Context& ctx, int path, int paths, const std::vector<std::vector<int64_t>>& rows) {
  std::vector<int64_t> places, values;
  int64_t widest = 0;
  for (size_t b = 0; b < rows.size(); ++b) {
    widest = std::max(widest, static_cast<int64_t>(rows[b].size()));
    for (size_t i = 0; i < rows[b].size(); ++i) {
      places.insert(places.end(), {static_cast<int64_t>(b), static_cast<int64_t>(i)});
      values.push_back(rows[b][i]);
    }
  }
  const auto count = static_cast<int64_t>(values.size());
  ctx.set_output(path, Tensor::Of<int64_t>(places, Shape{count, 2}));
  ctx.set_output(paths + path, Tensor::Of<int64_t>(values, Shape{count}));
  ctx.set_output(2 * paths + path,
                 Tensor::Vector<int64_t>({static_cast<int64_t>(rows.size()), widest}));
}

template <class T>
class GreedyCpu : public Kernel {
 public:
  GreedyCpu(bool merge, int64_t blank) : merge_(merge), blank_(blank) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool merge, c.Attr<bool>("merge_repeated"));
    ASSIGN_OR_RETURN(const int64_t blank, c.Attr<int64_t>("blank_index"));
    return std::unique_ptr<Kernel>(std::make_unique<GreedyCpu>(merge, blank));
  }

  Status Compute(Context& ctx) override {
    const Tensor& inputs = ctx.input(0);
    ASSIGN_OR_RETURN(const Sequences s, Sequences::Of(inputs, ctx.input(1), true));
    const int64_t blank = blank_ < 0 ? blank_ + s.classes : blank_;
    if (blank < 0 || blank >= s.classes) {
      return InvalidArgument("blank_index expected to be between ", -s.classes, " and ",
                             s.classes - 1, " but was ", blank_);
    }
    ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(3, kDTypeOf<T>, Shape{s.batch, 1}));
    std::vector<std::vector<int64_t>> rows(static_cast<size_t>(s.batch));
    compute::CancelLooks looks(ctx.work());
    for (int64_t b = 0; b < s.batch; ++b) {
      const CtcLogits<T> logits = s.Logits<T>(inputs, b);
      RETURN_IF_ERROR(looks.Did());
      T sum = 0;
      int64_t before = -1;
      for (int64_t t = 0; t < logits.steps; ++t) {
        RETURN_IF_ERROR(looks.Did(s.classes));
        const T* const row = logits.row(t);
        const int64_t best = std::max_element(row, row + s.classes) - row;
        sum -= row[best];
        if (best != blank && !(merge_ && best == before)) {
          rows[static_cast<size_t>(b)].push_back(best);
        }
        before = best;
      }
      sums->mutable_data<T>()[b] = sum;
    }
    SetLabels(ctx, 0, 1, rows);
    return OkStatus();
  }

 private:
  const bool merge_;
  const int64_t blank_;
};

template <class T>
class BeamSearchCpu : public Kernel {
 public:
  BeamSearchCpu(int64_t width, int64_t paths, bool merge)
      : width_(width), paths_(paths), merge_(merge) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t width, Int32Attr(c, "beam_width"));
    ASSIGN_OR_RETURN(const int64_t paths, c.Attr<int64_t>("top_paths"));
    ASSIGN_OR_RETURN(const bool merge, c.Attr<bool>("merge_repeated"));
    if (width < 1 || paths < 1) {
      return InvalidArgument("beam_width and top_paths must be at least 1, got ", width, " and ",
                             paths);
    }
    return std::unique_ptr<Kernel>(std::make_unique<BeamSearchCpu>(width, paths, merge));
  }

  Status Compute(Context& ctx) override {
    const Tensor& inputs = ctx.input(0);
    ASSIGN_OR_RETURN(const Sequences s, Sequences::Of(inputs, ctx.input(1), true));
    const int paths = static_cast<int>(paths_);
    ASSIGN_OR_RETURN(Tensor * probabilities,
                     ctx.AllocateOutput(3 * paths, kDTypeOf<T>, Shape{s.batch, paths_}));
    std::vector<std::vector<compute::CtcPath>> found(static_cast<size_t>(s.batch));
    RETURN_IF_ERROR(ForEachSequence(ctx, s.batch, [&](int64_t b) -> Status {
      ASSIGN_OR_RETURN(
          found[static_cast<size_t>(b)],
          compute::CtcBeamSearch(ctx.work(), s.Logits<T>(inputs, b), width_, paths_, merge_));
      return OkStatus();
    }));
    for (int p = 0; p < paths; ++p) {
      std::vector<std::vector<int64_t>> rows;
      for (int64_t b = 0; b < s.batch; ++b) {
        auto& own = found[static_cast<size_t>(b)];
        if (own.size() <= static_cast<size_t>(p)) {
          return InvalidArgument("Less leaves in the beam search than requested: ", own.size(),
                                 ", top_paths is ", paths_);
        }
        probabilities->mutable_data<T>()[b * paths_ + p] =
            static_cast<T>(own[static_cast<size_t>(p)].log_probability);
        rows.push_back(std::move(own[static_cast<size_t>(p)].labels));
      }
      SetLabels(ctx, p, paths, rows);
    }
    return OkStatus();
  }

 private:
  const int64_t width_, paths_;
  const bool merge_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ctc, cpu) {
  ForEachType<Types<float, double>>([&]<class T>() {
    registry.Add<LossCpu<T>>("CTCLoss", kCpu, {{"T", kDTypeOf<T>}});
    registry.Add<GreedyCpu<T>>("CTCGreedyDecoder", kCpu, {{"T", kDTypeOf<T>}});
    registry.Add<BeamSearchCpu<T>>("CTCBeamSearchDecoder", kCpu, {{"T", kDTypeOf<T>}});
  });
}
