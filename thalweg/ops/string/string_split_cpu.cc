// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/text/numbers.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// Each of these gives every part to found(part), from the first to the last, and looks for an
// Interruption.
// Between any byte of `delimiters`; without any, each byte is a part.
template <class Found>
void SplitAtAny(std::string_view text, std::string_view delimiters, bool skip_empty, Found found) {
  if (text.empty()) return;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) {
      compute::Interruption::Look();
      found(text.substr(i, 1));
    }
    return;
  }
  for (;;) {
    compute::Interruption::Look();
    const size_t end = text.find_first_of(delimiters);
    const std::string_view part = text.substr(0, end);
    if (!skip_empty || !part.empty()) found(part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// Between runs of white space. After `most` parts (if positive) the rest is one more, even if
// empty.
template <class Found>
void SplitAtSpace(std::string_view text, int64_t most, Found found) {
  const auto skip_space = [&text] {
    while (!text.empty() && compute::IsSpace(text.front())) text.remove_prefix(1);
  };
  skip_space();
  for (int64_t number = 0; !text.empty();) {
    compute::Interruption::Look();
    size_t end = 0;
    while (end < text.size() && !compute::IsSpace(text[end])) ++end;
    found(text.substr(0, end));
    text.remove_prefix(end);
    skip_space();
    if (++number != most) continue;
    found(text);
    return;
  }
}

template <class Found>
void SplitAt(std::string_view text, std::string_view separator, int64_t most, Found found) {
  if (most == 0) {
    found(text);
    return;
  }
  if (separator.empty()) {
    SplitAtSpace(text, most, found);
    return;
  }
  for (int64_t number = 0; most < 0 || number < most; ++number) {
    compute::Interruption::Look();
    const size_t end = text.find(separator);
    if (end == std::string_view::npos) break;
    found(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  found(text);
}

// Outputs: indices [n, 2], values [n], shape [2] of what `split` finds in each string of input 0.
// It runs twice, first to count: a list of the parts would take many times the memory of the
// strings.
template <class Split>
Status SplitOutputs(Context& ctx, const Split& split) {
  const Tensor& input = ctx.input(0);
  int64_t n = 0, widest = 0;
  const auto texts = input.flat<std::string>();
  RETURN_IF_ERROR(compute::Interruptibly(ctx.work(), [&] {
    for (const std::string& text : texts) {
      compute::Interruption::Look();
      const int64_t before = n;
      split(text, [&n](std::string_view) { ++n; });
      widest = std::max(widest, n - before);
    }
  }));
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, DType::kInt64, Shape{n, 2}));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, DType::kString, Shape{n}));
  ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(2, DType::kInt64, Shape{2}));
  shape->mutable_data<int64_t>()[0] = input.num_elements();
  shape->mutable_data<int64_t>()[1] = widest;
  auto* place = indices->mutable_data<int64_t>();
  auto* value = values->mutable_data<std::string>();
  int64_t row = 0;
  return compute::Interruptibly(ctx.work(), [&] {
    for (const std::string& text : texts) {
      compute::Interruption::Look();
      split(text, [&, column = int64_t{0}](std::string_view part) mutable {
        *place++ = row;
        *place++ = column++;
        *value++ = std::string(part);
      });
      ++row;
    }
  });
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
    return SplitOutputs(ctx, [&](std::string_view text, auto found) {
      SplitAtAny(text, delimiters, skip_empty_, found);
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
        ctx, [&](std::string_view text, auto found) { SplitAt(text, separator, most_, found); });
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
