// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
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
    std::vector<std::string> made;
    std::vector<int64_t> ends;
    if (!splits.empty()) ends.push_back(0);
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      RETURN_IF_ERROR(
          AddRow(data.data<std::string>() + splits[row], splits[row + 1] - splits[row], made));
      ends.push_back(static_cast<int64_t>(made.size()));
    }
    ctx.set_output(0, Tensor::Of<std::string>(made, Shape{static_cast<int64_t>(made.size())}));
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

  Status AddRow(const std::string* row, int64_t length, std::vector<std::string>& made) const {
    const size_t before = made.size();
    for (const int64_t width : widths_) {
      if (width > kMost) return InvalidArgument("ngram_widths must be at most 2^20, got ", width);
      const int64_t pad = PadOf(width);
      const int64_t count = std::max<int64_t>(0, length + 2 * pad - width + 1);
      for (int64_t i = 0; i < count; ++i) made.push_back(NGram(row, length, pad, i, width));
    }
    if (preserve_ && made.size() == before && length > 0) {
      const int64_t pad = std::clamp<int64_t>(pad_, 0, kMost);
      made.push_back(NGram(row, length, pad, 0, length + 2 * pad));
    }
    return OkStatus();
  }

  // `width` strings of the padded row, from place `first` on.
  std::string NGram(const std::string* row, int64_t length, int64_t pad, int64_t first,
                    int64_t width) const {
    std::string text;
    for (int64_t k = first; k < first + width; ++k) {
      if (k > first) text += separator_;
      text += k < pad ? left_ : k < pad + length ? row[k - pad] : right_;
    }
    return text;
  }

  std::string separator_, left_, right_;
  std::vector<int64_t> widths_;
  int64_t pad_ = 0;
  bool preserve_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(string_ngrams, cpu) { registry.Add<NGramsCpu>("StringNGrams", kCpu); }
