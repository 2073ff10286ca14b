// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/inflate.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {
namespace {

class DecodeCompressedCpu : public Kernel {
 public:
  explicit DecodeCompressedCpu(Compression kind) : kind_(kind) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string name, c.Attr<std::string>("compression_type"));
    ASSIGN_OR_RETURN(const Compression kind, CompressionNamed(name));
    return std::unique_ptr<Kernel>(std::make_unique<DecodeCompressedCpu>(kind));
  }

  Status Compute(Context& ctx) override {
    const Tensor& bytes = ctx.input(0);
    if (kind_ == Compression::kNone) {
      ctx.set_output(0, bytes);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, bytes.shape()));
    HeapCharge charge;
    uint64_t taken = 0;
    for (int64_t i = 0; i < bytes.num_elements(); ++i) {
      const auto room = [&](uint64_t more) { return charge.Set(ctx.allocator(), taken + more); };
      Result<std::string> text = Inflate(bytes.data<std::string>()[i], kind_, room);
      if (!text.ok()) return text.status().WithContext(StrCat("element ", i));
      taken += text->size();
      out->mutable_data<std::string>()[i] = *std::move(text);
      RETURN_IF_ERROR(ctx.step().cancellation->Reason());
    }
    return OkStatus();
  }

 private:
  const Compression kind_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(decode_compressed, cpu) {
  registry.Add<DecodeCompressedCpu>("DecodeCompressed", kCpu).Cost(KernelCost::kExpensive);
}
