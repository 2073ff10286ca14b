// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <complex>
#include <limits>

#include "thalweg/compute/ew/nonfinite.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

constexpr int64_t kBlock = 64 * 1024;

// Calls f(elements, how many) with the real numbers of a tensor, a complex one being two; nothing
// for other types.
template <class F>
void WithReals(const Tensor& x, F f) {
  switch (x.dtype()) {
    case DType::kFloat:
      return f(x.data<float>(), x.num_elements());
    case DType::kDouble:
      return f(x.data<double>(), x.num_elements());
    case DType::kHalf:
      return f(x.data<Half>(), x.num_elements());
    case DType::kBfloat16:
      return f(x.data<Bfloat16>(), x.num_elements());
    case DType::kComplex64:
      return f(reinterpret_cast<const float*>(x.data<std::complex<float>>()), 2 * x.num_elements());
    case DType::kComplex128:
      return f(reinterpret_cast<const double*>(x.data<std::complex<double>>()),
               2 * x.num_elements());
    default:
      return;
  }
}

double Number(double value) { return value; }
double Number(Half value) { return static_cast<float>(value); }
double Number(Bfloat16 value) { return static_cast<float>(value); }

uint32_t KindsOf(compute::Work& work, const Tensor& x) {
  std::atomic<uint32_t> kinds{0};
  WithReals(x, [&](const auto* values, int64_t n) {
    const bool whole = compute::ForBlocks(work, n, kBlock, [&](int64_t begin, int64_t end) {
                         kinds.fetch_or(compute::NonfiniteKinds(values + begin, end - begin),
                                        std::memory_order_relaxed);
                       }).ok();
    if (!whole) kinds = 0;  // the step ends anyhow
  });
  return kinds;
}

std::string KindsText(uint32_t kinds) {
  std::string text;
  const auto add = [&](uint32_t kind, std::string_view name) {
    if ((kinds & kind) != 0) text += StrCat(text.empty() ? "" : " and ", name);
  };
  add(compute::kNan, "NaN");
  add(compute::kPlusInf, "Inf");
  add(compute::kMinusInf, "-Inf");
  return text;
}

// "2 of 6 elements, the first at [0,1]"
std::string WhereText(const Tensor& x) {
  int64_t count = 0, first = -1;
  WithReals(x, [&](const auto* values, int64_t n) {
    const int64_t parts = n / std::max<int64_t>(x.num_elements(), 1);
    int64_t last = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (compute::NonfiniteKinds(values + i, 1) == 0 || i / parts == last) continue;
      last = i / parts;
      if (first < 0) first = last;
      ++count;
    }
  });
  std::string at;
  for (int d = x.rank() - 1; d >= 0; --d) {
    at = StrCat(first % x.shape().dim(d), at.empty() ? "" : ",", at);
    first /= x.shape().dim(d);
  }
  return x.rank() == 0
             ? "the scalar"
             : StrCat(count, " of ", x.num_elements(), " elements, the first at [", at, "]");
}

// What is in a value, for people: the range of finite numbers and what else there is.
std::string RangeText(const Tensor& x) {
  std::string text = StrCat(x.dtype(), x.shape());
  double low = std::numeric_limits<double>::infinity(), high = -low;
  uint32_t kinds = 0;
  WithReals(x, [&](const auto* values, int64_t n) {
    kinds = compute::NonfiniteKinds(values, n);
    for (int64_t i = 0; i < n; ++i) {
      const double value = Number(values[i]);
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  });
  if (low <= high) text += low == high ? StrCat(" of ", low) : StrCat(" from ", low, " to ", high);
  if (kinds != 0) text += StrCat(low <= high ? ", and " : " of ", KindsText(kinds));
  return text;
}

// The rule of both: a node made what is not finite where nothing of the kind was given to it.
class FiniteCheck {
 public:
  static Result<FiniteCheck> Create(const KernelConstruction& c) {
    FiniteCheck check;
    ASSIGN_OR_RETURN(check.names_, c.Attr<std::vector<std::string>>("input_names"));
    ASSIGN_OR_RETURN(check.what_, c.Attr<std::string>("what"));
    ASSIGN_OR_RETURN(check.only_nan_, c.Attr<bool>("only_nan"));
    ASSIGN_OR_RETURN(check.loop_, c.Attr<std::string>("loop"));
    if (check.names_.size() != static_cast<size_t>(c.node().num_inputs() - 1)) {
      return InvalidArgument("expected a name for each of ", c.node().num_inputs() - 1,
                             " inputs, got ", check.names_.size());
    }
    return check;
  }

  // `value`: what the node made.
  Status Check(Context& ctx, const Tensor& value) const {
    const uint32_t made = KindsOf(ctx.work(), value) & (only_nan_ ? compute::kNan : ~0u);
    if (made == 0) return OkStatus();
    uint32_t given = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      given |= KindsOf(ctx.work(), ctx.input(static_cast<int>(i)));
    }
    const bool is_first = (made & compute::kNan) != 0 ? (given & compute::kNan) == 0 : given == 0;
    return is_first ? Error(ctx, made, value) : OkStatus();
  }

 private:
  Status Error(Context& ctx, uint32_t kinds, const Tensor& value) const {
    std::string text = StrCat("the first value that is not finite: ", what_, " has ",
                              KindsText(kinds), " (", WhereText(value), ")");
    if (!loop_.empty()) {
      text += StrCat(", in iteration ", ctx.tag() & 0xffffffffu, " of loop '", loop_, "'");
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      text += StrCat(i == 0 ? "; given: " : "; ", names_[i], ", ",
                     RangeText(ctx.input(static_cast<int>(i))));
    }
    return InvalidArgument(text);
  }

  std::vector<std::string> names_;
  std::string what_;
  bool only_nan_ = false;
  std::string loop_;
};

class CheckFiniteCpu : public Kernel {
 public:
  explicit CheckFiniteCpu(FiniteCheck check) : check_(std::move(check)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(FiniteCheck check, FiniteCheck::Create(c));
    return std::unique_ptr<Kernel>(std::make_unique<CheckFiniteCpu>(std::move(check)));
  }
  Status Compute(Context& ctx) override {
    const Tensor& value = ctx.input(ctx.num_inputs() - 1);
    RETURN_IF_ERROR(check_.Check(ctx, value));
    ctx.set_output(0, value);
    return OkStatus();
  }

 private:
  const FiniteCheck check_;
};

class CheckFiniteVariableCpu : public Kernel {
 public:
  explicit CheckFiniteVariableCpu(FiniteCheck check) : check_(std::move(check)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(FiniteCheck check, FiniteCheck::Create(c));
    return std::unique_ptr<Kernel>(std::make_unique<CheckFiniteVariableCpu>(std::move(check)));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, ctx.num_inputs() - 1));
    const Tensor value = variable->ReadOrEmpty();
    if (value.empty()) return OkStatus();
    return check_.Check(ctx, value);
  }

 private:
  const FiniteCheck check_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(finite_check, cpu) {
  registry.Add<CheckFiniteCpu>("_CheckFinite", kCpu);
  registry.Add<CheckFiniteVariableCpu>("_CheckFiniteVariable", kCpu);
}
