// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "thalweg/compute/text/base64.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/string/text_map.h"

namespace thalweg {
namespace {

class EncodeCpu : public Kernel {
 public:
  explicit EncodeCpu(bool pad) : pad_(pad) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool pad, c.Attr<bool>("pad"));
    return std::unique_ptr<Kernel>(std::make_unique<EncodeCpu>(pad));
  }
  Status Compute(Context& ctx) override {
    return MapTexts<std::string>(
        ctx, [&](const std::string& bytes) { return compute::EncodeBase64(bytes, pad_); });
  }

 private:
  const bool pad_;
};

Status Decode(Context& ctx) {
  std::atomic<bool> failed{false};
  RETURN_IF_ERROR(MapTexts<std::string>(ctx, [&](const std::string& text) {
    std::optional<std::string> bytes = compute::DecodeBase64(text);
    if (!bytes.has_value()) failed = true;
    return std::move(bytes).value_or(std::string());
  }));
  if (!failed) return OkStatus();
  return InvalidArgument(
      "Invalid character found in base64. (It is letters, digits, '-', '_'; padded with '=' to a "
      "multiple of 4 or "
      "not at all)");
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(base64, cpu) {
  registry.Add<EncodeCpu>("EncodeBase64", kCpu);
  registry.AddFunction<Decode>("DecodeBase64", kCpu);
}
