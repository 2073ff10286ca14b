// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <vector>

#include "thalweg/compute/text/numbers.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

using Parts = std::vector<std::string_view>;

// Between any byte of `delimiters`; without any, each byte is a part.
void SplitAtAny(std::string_view text, std::string_view delimiters, bool skip_empty, Parts& parts) {
  if (text.empty()) return;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) parts.push_back(text.substr(i, 1));
    return;
  }
  for (;;) {
    const size_t end = text.find_first_of(delimiters);
    const std::string_view part = text.substr(0, end);
    if (!skip_empty || !part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// Between runs of white space. After `most` parts (if positive) the rest is one more, even if
// empty.
void SplitAtSpace(std::string_view text, int64_t most, Parts& parts) {
  const auto skip_space = [&text] {
    while (!text.empty() && compute::IsSpace(text.front())) text.remove_prefix(1);
  };
  skip_space();
  for (int64_t found = 0; !text.empty();) {
    size_t end = 0;
    while (end < text.size() && !compute::IsSpace(text[end])) ++end;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
    skip_space();
    if (++found != most) continue;
    parts.push_back(text);
    return;
  }
}

void SplitAt(std::string_view text, std::string_view separator, int64_t most, Parts& parts) {
  if (most == 0) {
    parts.push_back(text);
    return;
  }
  if (separator.empty()) {
    SplitAtSpace(text, most, parts);
    return;
  }
  for (int64_t found = 0; most < 0 || found < most; ++found) {
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  parts.push_back(text);
}

// Outputs: indices [n, 2], values [n], shape [2] of what `split` finds in each string of input 0.
template <class Split>
Status SplitOutputs(Context& ctx, const Split& split) {
  const Tensor& input = ctx.input(0);
  Parts parts;
  std::vector<int64_t> ends;
  int64_t widest = 0;
  for (const std::string& text : input.flat<std::string>()) {
    const size_t before = parts.size();
    split(text, parts);
    widest = std::max(widest, static_cast<int64_t>(parts.size() - before));
    ends.push_back(static_cast<int64_t>(parts.size()));
  }
  const auto n = static_cast<int64_t>(parts.size());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, DType::kInt64, Shape{n, 2}));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, DType::kString, Shape{n}));
  ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(2, DType::kInt64, Shape{2}));
  shape->mutable_data<int64_t>()[0] = input.num_elements();
  shape->mutable_data<int64_t>()[1] = widest;
  auto* place = indices->mutable_data<int64_t>();
  auto* value = values->mutable_data<std::string>();
  int64_t i = 0;
  for (size_t row = 0; row < ends.size(); ++row) {
    for (int64_t column = 0; i < ends[row]; ++i, ++column) {
      place[2 * i] = static_cast<int64_t>(row);
      place[2 * i + 1] = column;
      value[i] = parts[static_cast<size_t>(i)];
    }
  }
  return OkStatus();
}

Status CheckInputs(Context& ctx, std::string_view what) {
  if (ctx.input(0).rank() != 1) {
    return InvalidArgument("input must be a vector, got shape: ", ctx.input(0).shape());
  }
  if (ctx.input(1).rank() == 0) return OkStatus();
  return InvalidArgument(what, " must be a scalar, got shape: ", ctx.input(1).shape());
}

class SplitCpu : public Kernel {
 public:
  explicit SplitCpu(bool skip_empty) : skip_empty_(skip_empty) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool skip_empty, c.Attr<bool>("skip_empty"));
    return std::unique_ptr<Kernel>(std::make_unique<SplitCpu>(skip_empty));
  }
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckInputs(ctx, "delimiter"));
    const std::string& delimiters = ctx.input(1).scalar<std::string>();
    return SplitOutputs(ctx, [&](std::string_view text, Parts& parts) {
      SplitAtAny(text, delimiters, skip_empty_, parts);
    });
  }

 private:
  const bool skip_empty_;
};

class SplitV2Cpu : public Kernel {
 public:
  explicit SplitV2Cpu(int64_t most) : most_(most) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t most, Int32Attr(c, "maxsplit"));
    return std::unique_ptr<Kernel>(std::make_unique<SplitV2Cpu>(most));
  }
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckInputs(ctx, "sep"));
    const std::string& separator = ctx.input(1).scalar<std::string>();
    return SplitOutputs(
        ctx, [&](std::string_view text, Parts& parts) { SplitAt(text, separator, most_, parts); });
  }

 private:
  const int64_t most_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(string_split, cpu) {
  registry.Add<SplitCpu>("StringSplit", kCpu);
  registry.Add<SplitV2Cpu>("StringSplitV2", kCpu);
}
