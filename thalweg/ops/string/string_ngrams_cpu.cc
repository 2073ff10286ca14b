// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/row_splits.h"

namespace thalweg {
namespace {

class NGramsCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<NGramsCpu>();
    ASSIGN_OR_RETURN(kernel->separator_, c.Attr<std::string>("separator"));
    ASSIGN_OR_RETURN(kernel->widths_, c.Attr<std::vector<int64_t>>("ngram_widths"));
    ASSIGN_OR_RETURN(kernel->left_, c.Attr<std::string>("left_pad"));
    ASSIGN_OR_RETURN(kernel->right_, c.Attr<std::string>("right_pad"));
    ASSIGN_OR_RETURN(kernel->pad_, Int32Attr(c, "pad_width"));
    ASSIGN_OR_RETURN(kernel->preserve_, c.Attr<bool>("preserve_short_sequences"));
    for (const int64_t width : kernel->widths_) {
      if (width < 1) return InvalidArgument("ngram_widths must contain positive values");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &data = ctx.input(0), &given = ctx.input(1);
    Splits splits;  // none at all is no row
    if (given.rank() != 1 || given.num_elements() > 0) {
      ASSIGN_OR_RETURN(splits, SplitsOf(given, data.num_elements(), Cover::kWhole));
    }
    std::vector<int64_t> ends;
    int64_t total = 0;
    if (!splits.empty()) ends.push_back(0);
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      RETURN_IF_ERROR(ForEachNGram(splits[row + 1] - splits[row], [&](const Place&) {
        ++total;
        return OkStatus();
      }));
      ends.push_back(total);
    }
    ASSIGN_OR_RETURN(Tensor * made, ctx.AllocateOutput(0, DType::kString, Shape{total}));
    RETURN_IF_ERROR(MakeNGrams(ctx, data.data<std::string>(), splits, *made));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(1, given.dtype(), given.shape()));
    for (size_t i = 0; i < ends.size(); ++i) {
      if (given.dtype() == DType::kInt64) {
        out->mutable_data<int64_t>()[i] = ends[i];
      } else if (ends[i] <= std::numeric_limits<int32_t>::max()) {
        out->mutable_data<int32_t>()[i] = static_cast<int32_t>(ends[i]);
      } else {
        return InvalidArgument(ends[i], " n-grams do not fit into row splits of int32");
      }
    }
    return OkStatus();
  }

 private:
  static constexpr int64_t kMost = 1 << 20;  // the widest n-gram, and padding of a row

  int64_t PadOf(int64_t width) const { return std::min(pad_ < 0 ? width - 1 : pad_, width - 1); }

  // Where an n-gram lies in a padded row.
  struct Place {
    int64_t pad, first, width;
  };

  // f(place) for each of a row of `length` strings.
  template <class F>
  Status ForEachNGram(int64_t length, const F& f) const {
    bool has_any = false;
    for (const int64_t width : widths_) {
      if (width > kMost) return InvalidArgument("ngram_widths must be at most 2^20, got ", width);
      const int64_t pad = PadOf(width);
      const int64_t count = std::max<int64_t>(0, length + 2 * pad - width + 1);
      for (int64_t i = 0; i < count; ++i) RETURN_IF_ERROR(f(Place{pad, i, width}));
      has_any |= count > 0;
    }
    if (!preserve_ || has_any || length == 0) return OkStatus();
    const int64_t pad = std::clamp<int64_t>(pad_, 0, kMost);
    return f(Place{pad, 0, length + 2 * pad});
  }

  Status MakeNGrams(Context& ctx, const std::string* data, const Splits& splits,
                    Tensor& made) const {
    TextMeter meter(ctx.allocator(), made);
    auto* to = made.mutable_data<std::string>();
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      const std::string* const texts = data + splits[row];
      const int64_t length = splits[row + 1] - splits[row];
      RETURN_IF_ERROR(ForEachNGram(length, [&](const Place& place) {
        size_t bytes = static_cast<size_t>(place.width - 1) * separator_.size();
        ForEachPart(texts, length, place, [&](const std::string& part) { bytes += part.size(); });
        if (!meter.Take(bytes)) return meter.status();
        if (ctx.work().cancelled()) return CancelledStep();
        std::string& text = *to++;
        text.reserve(bytes);
        ForEachPart(texts, length, place, [&, is_first = true](const std::string& part) mutable {
          if (!std::exchange(is_first, false)) text += separator_;
          text += part;
        });
        return OkStatus();
      }));
    }
    return OkStatus();
  }

  template <class F>
  void ForEachPart(const std::string* row, int64_t length, const Place& place, F&& f) const {
    for (int64_t k = place.first; k < place.first + place.width; ++k) {
      f(k < place.pad ? left_ : k < place.pad + length ? row[k - place.pad] : right_);
    }
  }

  std::string separator_, left_, right_;
  std::vector<int64_t> widths_;
  int64_t pad_ = 0;
  bool preserve_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(string_ngrams, cpu) { registry.Add<NGramsCpu>("StringNGrams", kCpu); }
