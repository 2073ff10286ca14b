// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/numbers.h"
#include "thalweg/compute/text/unicode.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/string/text_map.h"

namespace thalweg {
namespace {

// Letters of ASCII alone, whatever the locale.
std::string AsciiCase(const std::string& text, bool upper) {
  std::string changed = text;
  const char first = upper ? 'a' : 'A';
  for (char& c : changed) {
    if (c >= first && c < first + 26) c = static_cast<char>(c ^ 0x20);
  }
  return changed;
}

template <bool kUpper>
class CaseCpu : public Kernel {
 public:
  explicit CaseCpu(bool unicode) : unicode_(unicode) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string encoding, c.Attr<std::string>("encoding"));
    if (!encoding.empty() && encoding != "utf-8") {
      return InvalidArgument("only utf-8 or '' (no encoding) is supported, received ", encoding);
    }
    return std::unique_ptr<Kernel>(std::make_unique<CaseCpu>(!encoding.empty()));
  }

  Status Compute(Context& ctx) override {
    if (!unicode_) {
      return MapTexts<std::string>(ctx,
                                   [](const std::string& text) { return AsciiCase(text, kUpper); });
    }
    ASSIGN_OR_RETURN(const compute::UnicodeTables tables, compute::UnicodeTables::Get());
    return MapTexts<std::string>(
        ctx, [&](const std::string& text) { return tables.ChangeCase(text, kUpper); });
  }

 private:
  const bool unicode_;
};

Status Strip(Context& ctx) {
  return MapTexts<std::string>(
      ctx, [](const std::string& text) { return std::string(compute::Stripped(text)); });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(string_case, cpu) {
  registry.Add<CaseCpu<false>>("StringLower", kCpu);
  registry.Add<CaseCpu<true>>("StringUpper", kCpu);
  registry.AddFunction<Strip>("StringStrip", kCpu);
}
