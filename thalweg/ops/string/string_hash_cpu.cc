// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "thalweg/base/fingerprint.h"
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/text/hashes.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/string/text_map.h"

namespace thalweg {
namespace {

Result<uint64_t> BucketsOf(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const int64_t buckets, c.Attr<int64_t>("num_buckets"));
  if (buckets < 1) return InvalidArgument("num_buckets must be at least 1, got ", buckets);
  return static_cast<uint64_t>(buckets);
}

template <uint64_t (*kHash)(std::string_view)>
class HashCpu : public Kernel {
 public:
  explicit HashCpu(uint64_t buckets) : buckets_(buckets) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const uint64_t buckets, BucketsOf(c));
    return std::unique_ptr<Kernel>(std::make_unique<HashCpu>(buckets));
  }
  Status Compute(Context& ctx) override {
    return MapTexts<int64_t>(
        ctx, [&](const std::string& text) { return static_cast<int64_t>(kHash(text) % buckets_); });
  }

 private:
  const uint64_t buckets_;
};

class StrongHashCpu : public Kernel {
 public:
  StrongHashCpu(uint64_t buckets, const std::vector<int64_t>& key)
      : buckets_(buckets),
        key0_(static_cast<uint64_t>(key[0])),
        key1_(static_cast<uint64_t>(key[1])) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const uint64_t buckets, BucketsOf(c));
    ASSIGN_OR_RETURN(const std::vector<int64_t> key, c.Attr<std::vector<int64_t>>("key"));
    if (key.size() != 2) {
      return InvalidArgument("Key must have 2 elements, got ", key.size());
    }
    return std::unique_ptr<Kernel>(std::make_unique<StrongHashCpu>(buckets, key));
  }
  Status Compute(Context& ctx) override {
    return MapTexts<int64_t>(ctx, [&](const std::string& text) {
      return static_cast<int64_t>(compute::SipHash(key0_, key1_, text) % buckets_);
    });
  }

 private:
  const uint64_t buckets_, key0_, key1_;
};

// Rows of two numbers: the low and the high half of each fingerprint.
Status SdcaFprint(Context& ctx) {
  const Tensor& texts = ctx.input(0);
  if (texts.rank() != 1) {
    return InvalidArgument("Input must be a vector, got shape ", texts.shape());
  }
  ASSIGN_OR_RETURN(Tensor * prints, ctx.AllocateOutput(0, DType::kInt64, Shape{texts.dim(0), 2}));
  int64_t* out = prints->mutable_data<int64_t>();
  compute::CancelLooks looks(ctx.work());
  for (const std::string& text : texts.flat<std::string>()) {
    RETURN_IF_ERROR(looks.Did(1 + static_cast<int64_t>(text.size() / sizeof(uint64_t))));
    const WideFingerprint print = Fingerprint128(text);
    *out++ = static_cast<int64_t>(print.low);
    *out++ = static_cast<int64_t>(print.high);
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(string_hash, cpu) {
  registry.AddFunction<SdcaFprint>("SdcaFprint", kCpu);
  registry.Add<HashCpu<compute::Murmur64>>("StringToHashBucket", kCpu);
  registry.Add<HashCpu<Fingerprint64>>("StringToHashBucketFast", kCpu);
  registry.Add<StrongHashCpu>("StringToHashBucketStrong", kCpu);
}
