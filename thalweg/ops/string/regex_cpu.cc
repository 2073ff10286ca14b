// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "thalweg/base/mutex.h"
#include "thalweg/compute/text/regex.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/string/text_map.h"

namespace thalweg {
namespace {

using compute::Regex;

// The pattern of the last call, compiled: most graphs use one.
class CompiledPattern {
 public:
  Result<Regex> Get(const std::string& pattern) {
    MutexLock lock(mutex_);
    if (!regex_.has_value() || pattern_ != pattern) {
      ASSIGN_OR_RETURN(Regex made, Regex::Make(pattern));
      regex_ = std::move(made);
      pattern_ = pattern;
    }
    return *regex_;
  }

 private:
  Mutex mutex_;
  std::string pattern_ GUARDED_BY(mutex_);
  std::optional<Regex> regex_ GUARDED_BY(mutex_);
};

Status CheckScalar(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() == 0) return OkStatus();
  return InvalidArgument(what, " must be scalar, but received ", tensor.shape());
}

Status MatchAll(Context& ctx, const Regex& regex) {
  return MapTexts<bool>(ctx, [&](const std::string& text) { return regex.MatchesAll(text); });
}

Status ReplaceAll(Context& ctx, const Regex& regex, const std::string& rewrite, bool all) {
  const Tensor& input = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, input.shape()));
  TextMeter meter(ctx.allocator(), *out);
  RETURN_IF_ERROR(compute::ForLookingBlocks(
      ctx.work(), input.num_elements(), kTextsPerShard, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const std::string& text = input.data<std::string>()[i];
          if (!meter.Take(regex.MostBytes(text, rewrite, all))) return;
          out->mutable_data<std::string>()[i] = regex.Replaced(text, rewrite, all);
        }
      }));
  return meter.status();
}

class FullMatchCpu : public Kernel {
 public:
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckScalar(ctx.input(1), "Pattern"));
    ASSIGN_OR_RETURN(const Regex regex, pattern_.Get(ctx.input(1).scalar<std::string>()));
    return MatchAll(ctx, regex);
  }

 private:
  CompiledPattern pattern_;
};

class ReplaceCpu : public Kernel {
 public:
  explicit ReplaceCpu(bool all) : all_(all) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool all, c.Attr<bool>("replace_global"));
    return std::unique_ptr<Kernel>(std::make_unique<ReplaceCpu>(all));
  }
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckScalar(ctx.input(1), "Pattern"));
    RETURN_IF_ERROR(CheckScalar(ctx.input(2), "Rewrite"));
    ASSIGN_OR_RETURN(const Regex regex, pattern_.Get(ctx.input(1).scalar<std::string>()));
    return ReplaceAll(ctx, regex, ctx.input(2).scalar<std::string>(), all_);
  }

 private:
  const bool all_;
  CompiledPattern pattern_;
};

class StaticFullMatchCpu : public Kernel {
 public:
  explicit StaticFullMatchCpu(Regex regex) : regex_(std::move(regex)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string pattern, c.Attr<std::string>("pattern"));
    ASSIGN_OR_RETURN(Regex regex, Regex::Make(pattern));
    return std::unique_ptr<Kernel>(std::make_unique<StaticFullMatchCpu>(std::move(regex)));
  }
  Status Compute(Context& ctx) override { return MatchAll(ctx, regex_); }

 private:
  const Regex regex_;
};

class StaticReplaceCpu : public Kernel {
 public:
  StaticReplaceCpu(Regex regex, std::string rewrite, bool all)
      : regex_(std::move(regex)), rewrite_(std::move(rewrite)), all_(all) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string pattern, c.Attr<std::string>("pattern"));
    ASSIGN_OR_RETURN(std::string rewrite, c.Attr<std::string>("rewrite"));
    ASSIGN_OR_RETURN(const bool all, c.Attr<bool>("replace_global"));
    ASSIGN_OR_RETURN(Regex regex, Regex::Make(pattern));
    return std::unique_ptr<Kernel>(
        std::make_unique<StaticReplaceCpu>(std::move(regex), std::move(rewrite), all));
  }
  Status Compute(Context& ctx) override { return ReplaceAll(ctx, regex_, rewrite_, all_); }

 private:
  const Regex regex_;
  const std::string rewrite_;
  const bool all_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(regex, cpu) {
  registry.Add<FullMatchCpu>("RegexFullMatch", kCpu);
  registry.Add<ReplaceCpu>("RegexReplace", kCpu);
  registry.Add<StaticFullMatchCpu>("StaticRegexFullMatch", kCpu);
  registry.Add<StaticReplaceCpu>("StaticRegexReplace", kCpu);
}
