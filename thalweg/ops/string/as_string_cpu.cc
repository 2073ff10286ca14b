// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cinttypes>
#include <complex>
#include <cstdio>
#include <vector>

#include "thalweg/base/first_error.h"
#include "thalweg/compute/text/numbers.h"
#include "thalweg/compute/text/value_text.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/ops/string/text_map.h"

namespace thalweg {
namespace {

constexpr int64_t kWidest = 1 << 16;  // nobody reads more; snprintf's own limit is far away

template <class... Values>
std::string Printed(const std::string& format, Values... values) {
  char text[128];
  const int n = snprintf(text, sizeof text, format.c_str(), values...);
  if (n < 0) return std::string();
  if (static_cast<size_t>(n) < sizeof text) return {text, static_cast<size_t>(n)};
  std::string longer(static_cast<size_t>(n) + 1, '\0');
  snprintf(longer.data(), longer.size(), format.c_str(), values...);
  longer.pop_back();
  return longer;
}

class AsStringCpu : public Kernel {
 public:
  explicit AsStringCpu(std::string format) : format_(std::move(format)) {}

  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("T"));
    ASSIGN_OR_RETURN(const int64_t precision, c.Attr<int64_t>("precision"));
    ASSIGN_OR_RETURN(const bool scientific, c.Attr<bool>("scientific"));
    ASSIGN_OR_RETURN(const bool shortest, c.Attr<bool>("shortest"));
    ASSIGN_OR_RETURN(const int64_t width, c.Attr<int64_t>("width"));
    ASSIGN_OR_RETURN(const std::string fill, c.Attr<std::string>("fill"));
    const bool fraction = IsFloating(dtype) || IsComplex(dtype);
    if (!fraction && dtype != DType::kString) {
      if (scientific || shortest) {
        return InvalidArgument("scientific and shortest format not supported for datatype ", dtype);
      }
      if (precision >= 0) return InvalidArgument("precision not supported for datatype ", dtype);
    }
    if (scientific && shortest) {
      return InvalidArgument("Cannot select both scientific and shortest notation");
    }
    if (fill.size() > 1) {
      return InvalidArgument("Fill string must be one or fewer characters, got \"", fill, "\"");
    }
    if (!fill.empty() && std::string_view(" +-0#").find(fill[0]) == std::string_view::npos) {
      return InvalidArgument("Fill argument not supported: \"", fill, "\"");
    }
    if (width > kWidest || precision > kWidest) {
      return InvalidArgument("width and precision may be at most ", kWidest, ", got ", width,
                             " and ", precision);
    }
    std::string format = "%" + fill;
    if (width >= 0) format += std::to_string(width);
    if (precision >= 0) format += StrCat(".", precision);
    return std::unique_ptr<Kernel>(std::make_unique<AsStringCpu>(Complete(format, dtype,
                                                                          scientific ? "e"
                                                                          : shortest ? "g"
                                                                                     : "f")));
  }

  Status Compute(Context& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, DType::kString, input.shape()));
    auto* const to = output->mutable_data<std::string>();
    TextMeter meter(ctx.allocator(), *output);
    Status status = Unimplemented("text of ", input.dtype());
    ForEachType<decltype(JoinTypes(PodTypes{}, Types<std::string>{}))>([&]<class T>() {
      if (kDTypeOf<T> != input.dtype()) return;
      status = compute::ForBlocks(ctx.work(), input.num_elements(), kTextsPerShard,
                                  [&](int64_t begin, int64_t end) {
                                    const T* from = input.data<T>();
                                    for (int64_t i = begin; i < end; ++i) {
                                      std::string text = Text(from[i]);
                                      if (!meter.Take(text.size())) return;
                                      to[i] = std::move(text);
                                    }
                                  });
    });
    KeepFirstError(meter.status(), &status);
    return status;
  }

 private:
  static std::string Complete(const std::string& format, DType dtype, std::string_view letter) {
    if (IsComplex(dtype)) {
      const std::string part = StrCat(format, letter);
      return StrCat("(", part, ",", part, ")");
    }
    if (IsFloating(dtype)) return StrCat(format, letter);
    if (dtype == DType::kString) return format + "s";
    if (dtype == DType::kUint64 || dtype == DType::kUint32 || dtype == DType::kUint16 ||
        dtype == DType::kUint8) {
      return format + PRIu64;
    }
    return format + PRId64;
  }

  template <class T>
  std::string Text(const T& value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return format_ == "%s" ? value : Printed(format_, value.c_str());
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return Printed(format_, static_cast<int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      return Printed(format_, static_cast<uint64_t>(value));
    } else if constexpr (requires { value.imag(); }) {
      return Printed(format_, static_cast<double>(value.real()), static_cast<double>(value.imag()));
    } else if constexpr (sizeof(T) == 2) {
      return Printed(format_, static_cast<double>(static_cast<float>(value)));
    } else {
      return Printed(format_, static_cast<double>(value));
    }
  }

  const std::string format_;
};

template <class T>
Status ToNumber(Context& ctx) {
  const Tensor& input = ctx.input(0);
  std::atomic<int64_t> bad{-1};
  const auto* const first = input.data<std::string>();
  RETURN_IF_ERROR(MapTexts<T>(ctx, [&](const std::string& text) {
    T number{};
    if (!compute::ParseNumber(text, &number)) bad = &text - first;
    return number;
  }));
  if (bad < 0) return OkStatus();
  return InvalidArgument("StringToNumberOp could not correctly convert string: ", first[bad],
                         " (to ", kDTypeOf<T>, ")");
}

class FormatCpu : public Kernel {
 public:
  FormatCpu(std::vector<std::string> pieces, int64_t summarize)
      : pieces_(std::move(pieces)), summarize_(summarize) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string rest, c.Attr<std::string>("template"));
    ASSIGN_OR_RETURN(const std::string placeholder, c.Attr<std::string>("placeholder"));
    ASSIGN_OR_RETURN(const int64_t summarize, c.Attr<int64_t>("summarize"));
    std::vector<std::string> pieces;
    for (size_t at; !placeholder.empty() && (at = rest.find(placeholder)) != std::string::npos;) {
      pieces.push_back(rest.substr(0, at));
      rest.erase(0, at + placeholder.size());
    }
    pieces.push_back(rest);
    const auto inputs = static_cast<size_t>(c.node().num_inputs());
    if (pieces.size() != inputs + 1) {
      return InvalidArgument("num placeholders in template and num inputs must match: ",
                             pieces.size() - 1, " vs. ", inputs);
    }
    return std::unique_ptr<Kernel>(std::make_unique<FormatCpu>(std::move(pieces), summarize));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, Shape()));
    std::string& text = *out->mutable_data<std::string>();
    HeapCharge charge;  // what the text has room for, until the executor counts the output
    const auto may_grow = [&](size_t bytes) { return MayGrowTo(ctx, charge, bytes); };
    text = pieces_[0];
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      RETURN_IF_ERROR(compute::SummarizeEnds(ctx.input(i), summarize_, text, may_grow));
      text += pieces_[static_cast<size_t>(i) + 1];
    }
    return OkStatus();
  }

 private:
  const std::vector<std::string> pieces_;
  const int64_t summarize_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(as_string, cpu) {
  registry.Add<AsStringCpu>("AsString", kCpu);
  registry.Add<FormatCpu>("StringFormat", kCpu);
  ForEachType<Types<float, double, int32_t, int64_t, uint32_t, uint64_t>>([&]<class T>() {
    registry.AddFunction<ToNumber<T>>("StringToNumber", kCpu, {{"out_type", kDTypeOf<T>}});
  });
}
