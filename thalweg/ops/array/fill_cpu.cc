// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/resources/tensor_list.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/legacy_scalar.h"
#include "thalweg/tensor/zero_pages.h"

namespace thalweg {
namespace {

Status FillWithZeros(Context& ctx, Tensor* out) {
  if (IsPlain(out->dtype()) && ReleaseToZeros(out->mutable_raw_data(), out->bytes())) {
    return OkStatus();
  }
  return compute::FillZeros(ctx.work(), out->dtype(), out->mutable_raw_data(), out->num_elements());
}

// All bits, so that -0.0 is none.
bool IsZero(const Tensor& scalar) {
  const auto* bytes = static_cast<const unsigned char*>(scalar.raw_data());
  return IsPlain(scalar.dtype()) &&
         std::all_of(bytes, bytes + scalar.bytes(), [](unsigned char b) { return b == 0; });
}

Status Fill(Context& ctx) {
  Tensor dims = ctx.input(0);
  if (dims.rank() == 0) {
    ASSIGN_OR_RETURN(dims, dims.Reshaped(Shape{1}));
  }
  if (dims.rank() != 1) return InvalidArgument("dims must be a vector, got shape ", dims.shape());
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(dims, "dims"));
  const Tensor& value = ctx.input(1);
  if (!IsLegacyScalar(value)) {
    return InvalidArgument("value must be a scalar, got shape ", value.shape());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, value.dtype(), shape));
  if (IsZero(value)) return FillWithZeros(ctx, out);
  RETURN_IF_ERROR(ClaimCopies(ctx, *out, value, out->num_elements()));
  return compute::FillElements(ctx.work(), value.dtype(), value.raw_data(), out->mutable_raw_data(),
                               out->num_elements());
}

Status ZerosLike(Context& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.dtype() == DType::kResource) {
    return Unimplemented("zeros like a resource have no meaning here");
  }
  if (x.dtype() == DType::kVariant) {
    ASSIGN_OR_RETURN(Tensor zeros, ZerosLikeVariants(ctx, x));
    ctx.set_output(0, std::move(zeros));
    return OkStatus();
  }
  if (x.bytes() >= kZeroPagesFrom) {  // fresh pages cost less than those of x
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return FillWithZeros(ctx, out);
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.TakeOrAllocateOutput({0}, 0, x.dtype(), x.shape()));
  return compute::FillZeros(ctx.work(), out->dtype(), out->mutable_raw_data(), out->num_elements());
}

template <class T>
Status OnesLike(Context& ctx) {
  const Shape shape = ctx.input(0).shape();
  ASSIGN_OR_RETURN(Tensor * out, ctx.TakeOrAllocateOutput({0}, 0, kDTypeOf<T>, shape));
  const T one = static_cast<T>(1.0f);
  return compute::FillElements(ctx.work(), kDTypeOf<T>, &one, out->mutable_raw_data(),
                               out->num_elements());
}

// Zeros whatever `init` says, so that the same graph gives the same bits.
class EmptyCpu : public Kernel {
 public:
  explicit EmptyCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, shape));
    return FillWithZeros(ctx, out);
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fill, cpu) {
  registry.AddFunction<Fill>("Fill", kCpu);
  registry.AddFunction<ZerosLike>("ZerosLike", kCpu);
  registry.Add<EmptyCpu>("Empty", kCpu);
  ForEachType<PodTypes>([&]<class T>() {
    registry.AddFunction<OnesLike<T>>("OnesLike", kCpu, {{"T", kDTypeOf<T>}});
  });
}
